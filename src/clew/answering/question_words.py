"""Question words and function words of languages other than English, as tables.

Each entry: the Snowball algorithm of PyStemmer ("" without), the question words for persons, dates, places, numbers,
names and things, and reasons, then frequent function words, then nouns of places and of dates that follow "which".
All are folded as `clew.text.normalization.fold` folds.

Source: own lists. Differs from the source: nothing.
"""

from typing import NamedTuple


class LanguageTable(NamedTuple):
    """The words of a language, each field words with spaces between."""

    algorithm: str
    persons: str
    dates: str
    places: str
    numbers: str
    names: str
    reasons: str
    functions: str
    place_nouns: str = ""
    date_nouns: str = ""


TABLES = {
    "German": LanguageTable(
        "german", "wer wen wem wessen", "wann", "wo woher wohin", "wieviel wieviele viele viel",
        "wie was welche welcher welches welchen welchem", "warum weshalb wieso wozu",
        "der die das den dem des ein eine einen einem einer eines und oder ist war sind waren wird wurde wurden hat "
        "hatte haben von vom zu zum zur in im an am auf aus bei mit nach fur uber um durch nicht es er sie ihr sein "
        "seine seiner ihre ihrer man dass als auch noch sich",
        "stadt ort land dorf insel staat region hafen", "jahr jahre jahrhundert monat tag datum",
    ),
    "French": LanguageTable(
        "french", "qui", "quand", "ou", "combien", "que quoi quel quelle quels quelles qu lequel laquelle",
        "pourquoi comment",
        "le la les l un une des du de d et est sont etait etaient a ont avait ete en au aux dans sur par pour avec "
        "ce cet cette ces il elle ils elles se s ne pas n son sa ses leur leurs plus est",
        "ville pays village ile region lieu port", "annee an siecle mois jour date",
    ),
    "Spanish": LanguageTable(
        "spanish", "quien quienes", "cuando", "donde adonde", "cuanto cuanta cuantos cuantas", "que cual cuales",
        "como",
        "el la los las un una unos unas de del y o es son fue era fueron eran ha han habia en al a por para con "
        "se su "
        "sus lo le no mas este esta ese esa",
        "ciudad pais pueblo isla region lugar puerto", "ano siglo mes dia fecha",
    ),
    "Italian": LanguageTable(
        "italian", "chi", "quando", "dove dov", "quanto quanta quanti quante", "che cosa cos quale quali qual",
        "perche come",
        "il lo la i gli le l un uno una di del della dello dei degli delle d e o era sono erano stato stata ha hanno "
        "aveva in nel nella nei al alla da dal dalla per con su si suo sua suoi non piu questo questa",
        "citta paese villaggio isola regione luogo porto", "anno secolo mese giorno data",
    ),
    "Portuguese": LanguageTable(
        "portuguese", "quem", "quando", "onde aonde", "quanto quanta quantos quantas", "que qual quais",
        "porque como",
        "o a os as um uma de do da dos das e ou foi era eram foram sao esta tem tinha em no na nos nas ao por "
        "pelo pela "
        "para com se seu sua nao mais este essa",
        "cidade pais aldeia ilha regiao lugar porto", "ano seculo mes dia data",
    ),
    "Dutch": LanguageTable(
        "dutch", "wie wiens", "wanneer", "waar waarheen", "hoeveel", "wat welke welk", "waarom hoe",
        "de het een en of is was zijn waren wordt werd werden heeft had hebben van in op te aan bij met naar "
        "voor over "
        "om door niet hij zij ze haar dat die als ook er",
        "stad plaats land dorp eiland haven", "jaar eeuw maand dag datum",
    ),
    "Swedish": LanguageTable(
        "swedish", "vem vems vilka", "nar", "var vart", "manga mycket", "hur vad vilken vilket", "varfor",
        "den det en ett och eller ar blev blir har hade av i pa till fran med for om som inte han hon hans "
        "hennes sin "
        "de att manga mycket",
        "stad ort land by o hamn", "ar arhundrade manad dag datum",
    ),
    "Norwegian": LanguageTable(
        "norwegian", "hvem", "nar", "hvor", "hvormange mange mye", "hva hvilken hvilket hvilke", "hvorfor hvordan",
        "den det en et ei og eller er var ble har hadde av i pa til fra med for om som ikke han hun hans hennes "
        "de at "
        "mange mye", "by sted land oy havn", "ar arhundre maned dag dato",
    ),
    "Danish": LanguageTable(
        "danish", "hvem hvis", "hvornar", "hvor hvorhen", "hvormange mange meget",
        "hvad hvilken hvilket hvilke", "hvorfor hvordan",
        "den det en et og eller er var blev har havde af i pa til fra med for om som ikke han hun hans hendes de at "
        "mange meget", "by sted land o havn", "ar arhundrede maned dag dato",
    ),
    "Finnish": LanguageTable(
        "finnish", "kuka ketka kenen", "milloin koska", "missa mista mihin minne", "montako paljonko monta paljon",
        "kuinka mika mitka minka mita", "miksi miten", "ja tai on oli ovat olivat han se joka jossa ei kun etta",
    ),
    "Russian": LanguageTable(
        "russian", "кто кого кому кем чей чья", "когда", "где куда откуда", "сколько",
        "что чего какой какая какое какие каком какого какую", "почему зачем как",
        "и или в во на с со из от до по за к у о об для не это этот эта был была было были есть он она они его ее их "
        "который которая которого котором",
        "город городе стране страна село остров", "год году века веке",
    ),
    "Catalan": LanguageTable(
        "catalan", "qui", "quan", "on", "quant quanta quants quantes", "que quin quina quins quines", "com",
        "el la els les l un una de del dels d i o es son va ha han en al a per amb seu seva no mes",
        "ciutat pais poble illa lloc", "any segle mes dia",
    ),
    "Romanian": LanguageTable(
        "romanian", "cine cui", "cand", "unde", "cat cata cati cate", "ce care", "cum",
        "si sau este sunt era erau fost a au in la de din pe cu pentru nu mai un o lui ei al ale",
        "oras tara", "an anul",
    ),
    "Hungarian": LanguageTable(
        "hungarian", "ki kik kit", "mikor", "hol hova honnan", "hany mennyi", "mi mit mely melyik milyen",
        "miert hogyan",
        "a az egy es vagy volt van nem hogy meg",
    ),
    "Turkish": LanguageTable(
        "turkish", "kim kimin", "zaman", "nerede nereye nereden", "kac", "ne hangi", "neden nasil niye",
        "ve veya bir bu su ile icin olan oldu mi mu",
    ),
    "Greek": LanguageTable(
        "greek", "ποιος ποιός ποια ποιά ποιον", "πότε ποτε", "πού", "πόσα πόσοι πόσες πόσο", "τι ποιο ποιό",
        "γιατί πώς",
        "ο η το οι τα του της των τον την και είναι ήταν στο στη στην από με για που δεν",
    ),
    "Arabic": LanguageTable(
        "arabic", "من", "متى", "أين اين", "كم", "ما ماذا أي", "لماذا كيف", "في على إلى هو هي كان كانت",
    ),
    "Hindi": LanguageTable(
        "hindi", "कौन किसने", "कब", "कहाँ कहां", "कितने कितना कितनी", "क्या किस कौनसा", "क्यों कैसे",
        "का की के में है था थी थे ने को से"
    ),
    "Indonesian": LanguageTable(
        "indonesian", "siapa siapakah", "kapan", "mana dimana", "berapa", "apa apakah", "mengapa bagaimana kenapa",
        "yang di ke dari dan atau ini itu adalah untuk dengan",
    ),
    "Estonian": LanguageTable(
        "estonian", "kes kelle", "millal", "kus kust kuhu", "mitu palju", "mis milline millises", "miks",
        "ja on oli ta see",
    ),
    "Lithuanian": LanguageTable(
        "lithuanian", "kas kieno", "kada", "kur", "kiek", "koks kokia kuris kuri kuriame", "kodel kaip",
        "ir buvo yra",
    ),
    "Serbian": LanguageTable(
        "serbian", "ко ko ко́", "када kada кад kad", "где gde", "колико koliko",
        "шта sta који koji која koja", "зашто zasto",
        "је je и su се se у na на од od био bio била",
    ),
    "Basque": LanguageTable(
        "basque", "nor nork noren", "noiz", "non nora nondik", "zenbat", "zer zein", "zergatik nola",
        "eta da zen dago",
    ),
    "Irish": LanguageTable(
        "irish", "ce", "cathain", "ca", "mhead", "cad ceard", "conas", "an na agus ar i bhi is ag",
    ),
    "Esperanto": LanguageTable(
        "esperanto", "kiu kiuj", "kiam", "kie kien", "kiom", "kio kia", "kial kiel", "la kaj estas estis en de",
    ),
    "Tamil": LanguageTable(
        "tamil", "யார்", "எப்போது", "எங்கே எங்கு", "எத்தனை எவ்வளவு", "என்ன எந்த எது", "ஏன் எப்படி", "ஒரு இது",
    ),
    "Armenian": LanguageTable("armenian", "ով ո՞վ", "երբ ե՞րբ", "որտեղ", "քանի որքան", "ինչ որ", "ինչու", "է և են"),
    "Nepali": LanguageTable("nepali", "कसले कसको", "कहिले", "", "कति", "कुन", "किन कसरी", "छ थियो हो मा"),
    "Yiddish": LanguageTable(
        "yiddish", "ווער", "ווען", "וווּ וואו", "וויפל", "וואס וועלכער", "פארוואס", "איז און דער די",
    ),
    "Polish": LanguageTable(
        "", "kto kogo komu czyj", "kiedy", "gdzie skad dokad", "ile ilu",
        "co jaki jaka jakie ktory ktora ktore jakim",
        "dlaczego jak", "i lub w na z ze do od po za o dla nie to sie jest byl byla bylo sa jego jej",
        "miescie kraju", "roku",
    ),
    "Czech": LanguageTable(
        "", "kdo koho komu ci", "kdy", "kde kam odkud", "kolik", "co jaky jaka jake ktery ktera ktere", "proc jak",
        "a nebo v ve na s se z ze do od po za o pro ne je byl byla bylo jsou jeho jeji", "meste zemi", "roce",
    ),
    "Ukrainian": LanguageTable(
        "", "хто кого кому чий", "коли", "де куди звідки", "скільки", "що який яка яке якому", "чому як",
        "і та або в у на з із від до по за для не це був була було були є він вона вони його її",
    ),
    "Chinese": LanguageTable(
        "", "谁 誰 哪位 何人", "什么时候 何时 哪年 哪一年 几时", "哪里 哪儿 何处 在哪 哪个城市 哪个国家 哪座城市",
        "多少 几个 几位 几名 多大 多长 多高", "什么 哪个 哪些 哪艘 哪一", "为什么 为何 怎么 如何",
        "的 了 是 在 和 与 于 被 把 吗 呢 由",
    ),
    "Japanese": LanguageTable(
        "", "だれ 誰", "いつ 何年", "どこ", "いくつ いくら 何人 何個", "なに 何 どの どれ どんな", "なぜ どう どうして",
        "の は が を に で と も から です ます した か だ",
    ),
}  # fmt: skip
"""Tables by the English name of the language; those without an algorithm have no stems."""
