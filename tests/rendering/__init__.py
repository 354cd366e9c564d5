"""Tests of drawings and pages."""
