# Clew's server for a processor. Build and run:
#
#   docker build -t clew .
#   docker run --read-only --tmpfs /tmp -p 127.0.0.1:8377:8377 -v "$PWD/my-index:/indexes/polar" \
#     -v "$PWD/keys.json:/keys.json:ro" clew serve polar=/indexes/polar --host 0.0.0.0 --keys /keys.json
#
# docs/operating.md says more.

FROM python:3.12-slim-bookworm AS build
WORKDIR /source
RUN python -m venv /clew
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY src ./src
RUN /clew/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt '.[server,files,llm,otel]'

FROM python:3.12-slim-bookworm
LABEL org.opencontainers.image.title="Clew" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --uid 10001 --no-create-home --home-dir /state --shell /usr/sbin/nologin clew \
    && mkdir /state /indexes \
    && chown clew:clew /state /indexes
COPY --from=build /clew /clew
# The root is read-only: what is written goes to /state, the indexes, and /tmp.
ENV PATH=/clew/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    CLEW_CACHE=/state/cache \
    NUMBA_CACHE_DIR=/state/numba
USER 10001:10001
WORKDIR /state
VOLUME ["/state", "/indexes"]
EXPOSE 8377
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8377/health', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["clew"]
CMD ["--help"]
