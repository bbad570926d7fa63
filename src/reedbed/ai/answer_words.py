"""What questions and their answers look like in English, German, French and Spanish: patterns and word groups."""

import re
from collections.abc import Mapping

# --- What a question asks for


def _any_case(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_KINDS = {
    "amount": r"how (?:much|expensive|costly|full|cheap\w*)\b|by how much|(?:what|which) (?:share|percentage"
    r"|proportion|margin)"
    r"|what (?:is|was|are|were|does|did|do|will) .*\b(?:price|cost|value|worth|revenue|profit|rate|fee|fine|lose)\b"
    r"|by what margin|how high (?:is|are|was|were) .*\b(?:rate|turnout|inflation|price|unemployment)"
    r"|wie ?viel (?:geld|kostet|prozent|euro)|was kostet|(?:um )?wie ?viel\b(?! uhr)|wie (?:teuer|hoch)\b"
    r"|welche[rn]? (?:summe|betrag)"
    r"|welche[rn]? (?:anteil|preis)"
    r"|combien (?!de\b|d['’])(?:.*\b)?(?:co[uû]t|pay|paie|vaut|vers|d[ée]pens)"
    r"|(?:de|à) combien|quel(?:le)? (?:est|était|[ée]tait)? ?(?:le |la )?(?:prix"
    r"|valeur|part|taux)"
    r"|quel(?:le)? (?:part|somme|montant|pourcentage|proportion)|cu[aá]nto asciende|qu[eé] (?:suma"
    r"|cantidad)|cu[aá]nto (?:cost|cuest|vale|dinero|sub|baj|recib|cobr|pag)|qu[eé] porcentaje"
    r"|cu[aá]l (?:es|era|fue) (?:el|la) "
    r"(?:precio|tasa|valor|coste)",
    "duration": r"(?:for )?how long\b|wie lange\b|wie lang (?!ist|war|wird)|(?:combien de|quelle) (?:temps|dur[ée]e)"
    r"|(?:how many|wie ?viele?|combien d(?:e |['’])|cu[aá]nt[oa]s) ?(?:minut|hours|days|weeks|months|years|stunden"
    r"|tage\b|wochen|monate|jahre\b|heures|jours|semaines|mois|ann[ée]es|ans\b|horas|d[ií]as|semanas|meses|a[nñ]os)"
    r"|cu[aá]nto (?:tiempo|dur)|a cu[aá]ntos a[nñ]os",
    "number": r"how (?:many|old|fast|strong|far|big|large|high|deep|often|tall|wide|heavy|hot|cold|precise)\b"
    r"|what (?:was|is) the (?:death toll|number|area|maximum)|what area"
    r"|wie (?:viele|lang|alt|schnell|stark|weit|groß|tief|oft|heiß|schwer)\b|combien\b"
    r"|quel(?:le)? (?:hauteur|[aâ]ge|nombre|distance|taille)|qu[eé] tan \w+"
    r"|cu[aá]nt[oa]s?\b|qu[eé] (?:altura|edad|n[uú]mero|distancia)",
    "date": r"when\b|(?:at|on) what (?:time|day|date)|(?:what|which) (?:time|day|date|month|year)\b|since when"
    r"|until when"
    r"|wann\b|wie ?viel uhr|(?:seit|bis|ab) wann|(?:an )?welche[mnrs]? (?:tag|datum|jahr|monat)|quand\b|depuis quand"
    r"|(?:à )?quel(?:le)? (?:heure|date|jour|mois)"
    r"|(?:en )?quelle ann[ée]e|cu[aá]ndo\b|(?:desde|hasta) cu[aá]ndo|(?:a|en) qu[eé] (?:hora|a[nñ]o|fecha|d[ií]a)",
    "person": r"who(?:m|se)?\b|which (?:politician|minister|person|player|author|judge)|we(?:r|m|n|ssen)\b|(?:à "
    r"|de )?qui\b|qui[eé]n(?:es)?\b",
    "place": r"where\b|(?<=in )which (?:cit(?:y|ies)|countr(?:y|ies)|count(?:y|ies)|states?|towns?"
    r"|villages?|districts?|places?|regions?)"
    r"|wo(?:hin|her)?\b|(?<=in )welche[rmn]? (?:stadt|land|ort|region|bundesland|dorf|kreis)"
    r"|o[uù]\b|d'o[uù]\b|(?<=dans )quel(?:le)? (?:ville|pays|r[ée]gion|village|d[ée]partement)"
    r"|d[oó]nde\b|(?<=en )qu[eé] (?:ciudad|pa[ií]s|regi[oó]n|provincia|pueblo)",
    "cause": r"why\b|what (?:caused|causes|led to|started|brought|triggered)"
    r"|what (?:was|is|are|were) the (?:causes?|reasons?)"
    r"|how did .*\b(?:start|begin|happen|break out|come about)\b"
    r"|how (?:has|was) .*\b(?:started|happened)\b"
    r"|for what reason|how come"
    r"|what did .*\bdie of\b|wor(?:an|über)\b|wodurch\b|wofür\b|wie kam es\b|de quoi .*\bmort|de qu[eé] muri"
    r"|comment .*\b(?:commenc|déclar|produi|déclench)|c[oó]mo (?:empez|comenz|ocurri|se (?:origin|produj))"
    r"|warum\b|wieso\b|weshalb\b|weswegen\b|was (?:war|ist) (?:der grund|die ursache)|pourquoi\b"
    r"|quelle (?:est|[ée]tait) la cause"
    r"|qu'est-ce qui a (?:provoqu|caus|d[ée]clench)|por qu[eé]\b|qu[eé] (?:provoc|caus|origin)",
    "thing": r"what\b|which\b|was\b|welche[rsnm]?\b|que\b|quoi\b|quel(?:le)?s?\b|lequel|laquelle"
    r"|comment s['’]app|wie hei(?:ß|ss)|c[oó]mo se llama|qu['’]|qu[eé]\b|cu[aá]l(?:es)?\b",
}
_BEFORE_KIND = (
    "(?:(?:and|in|at|to|from|by|for|of|on|with|against|since|until|und|aber|an|auf|aus|bei|mit|nach|seit"
    "|bis|ab|um|von|vor|zu"
    "|für|gegen|et|à|de|en|dans|par|avec|contre|depuis|jusqu['’]à|pour|chez|sur|pendant|y|a|con|contra"
    "|desde|hasta|para) )"
)
KINDS: Mapping[str, re.Pattern[str]] = {
    kind: re.compile(rf"\W*(?:{_BEFORE_KIND})?(?:{pattern})", re.IGNORECASE) for kind, pattern in _KINDS.items()
}

# Nouns that ask for a measure, as in "orbit price" and "What was the height of the dam?", and the same as a question.
_MEASURE_NOUNS = {
    "how old": r"\bage\b|\balter\b|\bâge\b|\bedad\b",
    "how fast": r"speed|geschwindigkeit|vitesse|velocidad",
    "how high": r"\bheight|höhe\b|hauteur|\baltura",
    "how deep": r"\bdepth|\btiefe\b|profondeur|profundidad",
    "how long": r"\blength|\blänge\b|longueur|longitud",
    "how heavy": r"\bweight|\bgewicht\b|\bpoids\b|\bpeso\b",
    "how strong": r"magnitude?\b",
    "how long a time": r"\bduration|\bdauer\b|\bdurée|\bduración|battery life|akkulaufzeit",
    "how much does it cost": r"\bpric(?:e|ing)\b|\bcosts?\b|\bpreis\b|\bkosten\b|\bkostet\b|\bprix\b"
    r"|\bcoût\b|\bprecio|\bcoste\b"
    r"|\bcuesta|(?<!death )\btoll\b|\bfine\b|\bfee\b|\bmulta\b|\bamende\b|\bsalary|\bgehalt\b|\bsalaire|\bsueldo",
    "how many": r"\bnumber of|\bhow many|\bwie ?viele?\b|\banzahl(?: der| von)?|\bcombien d[e'’]"
    r"|\bnombre de|\bnúmero de|\bcu[aá]nt[oa]s\b",
    "when": r"\bwhen\b|\bdate\b|\bwann\b|\bdatum\b|\bquand\b|\bcu[aá]ndo\b|\bfecha\b",
    "who": r"\bwho\b|\bwer\b|\bqui[eé]n\b",
    "why": r"\bwhy\b|\breason\b|\bcause\b|\bwarum\b|\bgrund\b|\bursache\b|\bpourquoi\b|\braison\b"
    r"|\bmotivo\b|\bcausa\b",
    "where": r"\bwhere\b|\bwo\b|\boù\b|\bd[oó]nde\b",
}
MEASURE_NOUNS: Mapping[str, re.Pattern[str]] = {
    asked: re.compile(pattern, re.IGNORECASE) for asked, pattern in _MEASURE_NOUNS.items()
}

_ROLES = (
    r"(?:\w+ ){0,2}\w*(?:president|minister|mayor|captain|chief|boss|head|governor|director|coach|trainer|author"
    r"|manager|winner|owner|founder|successor|leader|chair\w*|spokes\w+|judge|lawyer|prosecutor|editor|präsident|bürgermeister"
    r"|kapitän|chef|gouverneur|direktor|autor|sieger|gewinner|besitzer|gründer|nachfolger|leiter|vorsitzende|vorstand"
    r"|sprecher|richter|anwalt|kanzler|kommissar|président|ministre|maire|capitaine|patron|directeur|directrice"
    r"|entraîneur|auteur|autrice|vainqueur|propriétaire|fondat|successeur|procureur|juge|avocat|préfet|rectrice|recteur"
    r"|presidente|ministr[oa]|alcalde|capitán|jefe|gobernador|entrenador|escritor|ganador|dueñ[oa]|fundador|sucesor"
    r"|portavoz|juez|abogad[oa]|fiscal)"
)
NAME_OF_ROLE = (
    (_any_case(rf"\W*what(?: is|['’]s) the name of (?=(?:the|its|their) {_ROLES})"), "Who is "),
    (_any_case(rf"\W*wie hei(?:ß|ss)t (?=d(?:er|ie) {_ROLES})"), "Wer ist "),
    (_any_case(rf"\W*(?:comment s['’]appelle|quel est le nom de) (?=l(?:[ea] |['’]){_ROLES})"), "Qui est "),
    (_any_case(rf"\W*quel est le nom du (?={_ROLES})"), "Qui est le "),
    (_any_case(rf"\W*(?:c[oó]mo se llama|cu[aá]l es el nombre de) (?=(?:el|la) {_ROLES})"), "Quién es "),
    (_any_case(rf"\W*cu[aá]l es el nombre del (?={_ROLES})"), "Quién es el "),
)
"""What asks for the name of somebody, and the beginning of the same question as it is asked mostly."""
YES_OR_NO = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|ist|sind|war|waren"
    r"|hat|haben|hatte|wird"
    r"|werden|wurde|wurden|kann|können|soll|gibt|muss|est|sont|était|a-t|ont|y a-t|va-t|peut|es|son|fue"
    r"|era|ha|han|hay"
    r"|puede|va|van)(?:\b|-)",
    re.IGNORECASE,
)

# --- What an answer of each kind holds

_NUMBER_WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    "|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|dozens?|hundreds?|thousands?|millions?|half|third|fifth|quarter"
    "|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|(?:drei|vier|fünf|sech|sieb|acht|neun)zehn"
    "|(?:\\w+und)?(?:zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig)|\\w*hundert"
    "|\\w*tausend|dutzende?"
    "|millionen|hälfte|drittel|viertel"
    "|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|vingt|trente|quarante"
    "|cinquante|soixante|cents?|mille|dizaines?|douzaine|(?:quinz|vingt|trent|quarant|cinquant|soixant|cent)aines?"
    "|milliers|moitié|tiers"
    "|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince|dieci\\w+|veinte|veinti\\w+"
    "|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa|cien|ciento|\\w+cient[oa]s|mil|miles"
    "|docenas?|decenas?|quincena|veintena|centenares|mitad|tercio"
)
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|januar|februar"
    "|märz|mai|juni|"
    "juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
    "|enero|febrero|"
    "marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
)
_DAYS = (
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday|montag|dienstag|mittwoch|donnerstag|freitag|samstag|"
    "sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo"
)
_UNITS = (
    "second|minute|hour|day|week|month|year|decade|sekunde|stunde|tag|woche|monat|jahr|jahrzehnt|seconde|heure|jour|"
    "semaine|mois|an|année|segundo|minuto|hora|día|semana|mes|año"
)
_PLURAL = r"(?:e?s|n|en|e|es)?"


NUMBER = _any_case(rf"\d|\b(?:{_NUMBER_WORDS})\b|\b(?:{_NUMBER_WORDS})-")
NUMBER_OF_NAME = re.compile(r"\b[^\W\d_]+-?\d+(?:\.\d+)?\b(?<!-[12]\d\d\d)")
"""COP30 and GPT-5 are names, but mid-1990 is a time."""
NUMBER_AFTER_NAME = re.compile(rf"(?<=\w )(?!(?i:{_MONTHS})\b)[A-ZÀ-Ý][\w-]+ \d{{1,3}}\b(?![.,\d%]|\s?(?:%|percent))")
"""The 4 of "the new Watch 4"."""
ZERO = _any_case(r"\b(?:nobody|no one|niemand|nadie|aucune? (?:mort|victime|blessé)|ningún|ninguna)\b")
COSTS = _any_case(
    r"\b(?:cost\w*|price\w*|expensive|cheap\w*|worth|value|pay\w*|paid|spen[dt]\w*|earn\w*|donat\w*|fine"
    r"|money|salary|wages?"
    r"|kostet\w*|kosten|\w*zahl(?:t|te|ten|en)|verdien\w*|gespendet|ausgegeben|teuer|preis\w*"
    r"|geld|wert|gehalt|lohn|co[uû]t\w*|prix|argent|salaire|valeur|vers[ée]e?s?|d[ée]pens\w*|"
    r"cuesta\w*|cost[óo]\w*|precio|vale|dinero|sueldo|salario|valor|pag\w*|cobr\w*|gast\w*)\b"
)
MONEY = _any_case(
    r"[$£€]\s?\d|\d\s?[$£€]|\b(?:milliard|mrd|bn)\w*"
    r"|\b(?:million|billion|millon|milli)\w*(?=\W*$|\W*[.,;:)]|\s+(?:a|an|and|as|at|by|for|from|in|more|less|of"
    r"|on|or|over|per"
    r"|than|that|the|this|to|when|which|while|with|after|before|last|next|auf|bei|für|im|mehr|pro|und|weniger"
    r"|zu|de|en|et|par"
    r"|plus|pour|sur|al|con|más|menos|para|por|y)\b|\s+d['’])|"
    rf"(?:\d|\b(?:{_NUMBER_WORDS}))[\d.,]*[\s-](?:\w+\s)?(?:pounds?|dollars?|euros?|cents?|crowns?|kron\w+|francs?"
    rf"|pesos?|yen|pfund|pence|rupees?|rubel|roubles?)\b"
)
SHARE = _any_case(
    r"\d\s?%|\b(?:percent|per cent|prozent|points?|punkte?|pour cent|por ciento|a (?:fifth|third|quarter"
    r"|half)|half|votes?)\b"
)
DURATION = _any_case(
    rf"(?:\d|\b(?:{_NUMBER_WORDS}|one|a|ein\w*|une?|un[oa]?|several))[\d.,]*[\s-](?:full )?(?:{_UNITS}){_PLURAL}\b|"
    r"\d+-stündig|\b20\d\d\b|\b(?:until|till|bis|jusqu|hasta)\b|\b(?:three|two|four) days after"
)
EXACT_DATE = _any_case(
    rf"\b\d{{1,2}}(?:er|\.)? (?:de )?(?:{_MONTHS})\b|\b(?:{_MONTHS}) \d|\b\d{{1,2}}[:.]\d\d\b|\bnoon\b"
    rf"|\b(?:19|20)\d\d\b"
    r"|\b\d{1,2} ?[ap]\.?m\b|\b\d+ uhr\b|\b\d+ ?h\b"
)
DATE = _any_case(
    rf"\b(?:{_MONTHS}|(?:{_DAYS})(?:früh|morgen|vormittag|mittag|nachmittag|abend|nacht)?|tomorrow|yesterday|tonight|morgen|gestern|heute|demain|hier|mañana|ayer|next"
    rf"|nächste\w*|easter|christmas|new year|ostern|pfingsten|weihnachten|silvester|pâques|noël|semana santa|navidad"
    rf"|spring|"
    r"summer|autumn|winter|frühjahr|sommer|herbst|printemps|été|automne|hiver|primavera|verano|otoño|invierno)\b"
)
STRONG_CAUSE = _any_case(
    r"\b(?:because|due to|caused?|blamed?|to blame|owing to|citing|reason|dispute|started by|weil|wegen"
    r"|aufgrund|grund|ursache|"
    r"auslöser|nachdem|ausgelöst|parce qu|à cause|en raison|provoqu\w+|causé\w*|faute de|porque|debido"
    r"|causad\w+|provoc\w+|"
    r"konsequenz|vorwürfe|conséquence|accus\w+|consecuencia|acusa\w+|prompted|following|amid|in response to"
    r"|row over|allegations?|shortage|(?:for )?lack of|à l['’]origine|fehl(?:t|en)\b|mangel|manque|falta de|"
    r"invoqu\w+|invoc\w+|en cause|face à|begründ\w+|cit(?:es|ed)|"
    r"schuld (?:war|ist|sind|daran)|zurückzuführen|lag an|liegt an|fragilis\w+|"
    r"por culpa|se deb(?:e|ió)|motivo|origin[óoa]\w*|triggered|sparked|ausgelöst|déclench\w+)"
)
CAUSE = _any_case(
    r"\b(?:after|over|against|in protest|in response|thanks to|led to|so that|result|failed|behind|nach|um gegen"
    r"|gegen|durch|après|demand\w*|forder\w*|verlang\w*|réclam\w*|exig\w+|piden|reclam\w*|fault|failure"
    r"|fehler|defekt|panne|fallo"
    r"|avería|left|ließ|laiss\w+|dej[aóo]\w*|"
    r"contre|afin|suite à|tras|contra|por)\b"
)
AFTER = _any_case(
    r"\b(?:after|because of|due to|following|nach|nachdem|wegen|après|à cause d|en raison d|tras|después de"
    r"|a causa de|debido al?)\b[^,.;]{0,60}"
)
ASKS_CLOCK = _any_case(r"\W*(?:at |um |à |a )?(?:what time|wie viel uhr|welche uhrzeit|quelle heure|qu[eé] hora)\b")
CLOCK = _any_case(
    r"\b\d{1,2}(?:[:.]\d\d)?\s?(?:[ap]\.?m\b|o['’]clock|uhr|h\b|heures?\b|horas?\b)|\b\d{1,2}[:.]\d\d\b"
    r"|\b(?:noon|midnight|mittags?"
    r"|mitternacht|midi|minuit|mediodía|medianoche)\b|\blas \d{1,2}\b"
)
PLACE = re.compile(
    r"\b(?:in|at|near|off|on|from|outside|around|to|bei|nach|aus|vor|an|im|am|à|au|en|dans|près de|de|a|cerca de) "
    r"(?:the |der |dem |den |la |le |l'|el |los |las |(?:a|an|town|city) [a-z]+ (?:of |near |in )?)?[A-ZÀ-Ý]\w+"
    r"|\b(?:in|at|on|inside|under|behind|dans|sous|sur|im|in einem|in einer|en|bajo) (?:an? |the |un |une "
    r"|el |la |le )?\w{4,}"
)
NAME = re.compile(
    r"(?<![.!?] )(?<!^)(?<!\b(?:at|in|on|to|im|am|zu|en|au) )(?<!\b(?:off|bei|aus) )(?<!\b(?:from|near|nach"
    r"|over|dans) )\b[A-ZÀ-Ý][\w’'-]+(?: [A-ZÀ-Ý][\w’'-]+)*"
)
NO_PERSON = _any_case(
    r"\b(?:street|road|avenue|square|lane|bridge|park|station|airport|harbour|river|lake|mount|county|city"
    r"|island|university"
    r"|college|school|hospital|church|museum|gallery|library|theatre|restaurant|hotel|court|council"
    r"|committee|parliament|ministry"
    r"|bank|company|group|union|party|club|league|cup|prize|act|straße|platz|allee|bahnhof|kirche|schule|universität"
    r"|rue|avenue|place|pont|gare|musée|bibliothèque|université|calle|plaza|puente|estación|museo"
    r"|biblioteca|universidad|banco|grupo|partido)\b"
)
"""A name with one of these is a place, a body or a thing."""
NAMELESS_SUBJECT = re.compile(
    r"^(?:A|An|Ein|Eine|Un|Une|Una|Two|Three|Zwei|Drei|Deux|Trois|Dos|Tres) [\w-]+|^Unbekannte\b"
    r"|^The [\w -]{3,30}, an? \w+|\b(?:by an?|von eine[rm]|par une?|por una?) [\w-]+"
)
"""A sentence about a person without a name: "A pensioner found it", "was found by a pensioner"."""
PERSON = re.compile(
    r"(?<!\b(?:in|at|on|im|am|en|au) )\b[A-ZÀ-Ý][\w’'-]+(?: (?:de |von |van |del )?[A-ZÀ-Ý][\w’'-]+)+\b"
)

VOTES = _any_case(
    r"\W*(?:how many|wie ?viele?|combien de|cu[aá]nt[oa]s) (?:votes?|stimmen|voix|suffrages|votos?|points?"
    r"|punkte?|puntos|degrees|grad)"
)
WHICH = _any_case(
    rf"\W*(?:{_BEFORE_KIND})?(?:which|what|welche[rsnm]?|quel(?:le)?s?|qué)\s+(?!(?:is|are|was|were|est"
    rf"|sont|était)\b)(\w+)"
    r"(?!\s+(?:the|an?|in|at|on|by|after|el|las?|los|en|sus?|una?|al|con|contra|por)\b)"
)
"""What kind of thing is asked for, which an answer need not say: the word after "which"."""
ASKING = _any_case(
    rf"\W*(?:{_BEFORE_KIND})?(?:how (?:many|much) (?:\w+['’]s? )?\w+|(?:which|what)(?! (?:is|are|was|were"
    rf"|did|does|do|has|have|will|can)\b)"
    r" \w+|how \w+|who[ms]?e?|what|when|where|why"
    r"|wie ?viele? \w+|welche[rsnm]? \w+|wie (?:lang|lange|alt|hoch|tief|weit|schnell|stark|oft|groß"
    r"|schwer|teuer)\b|wie|we[rmn]|wann|warum"
    r"|wieso|weshalb|wohin|woher|wo|was"
    r"|combien (?:de |d['’])\w+|combien|quel(?:le)?s? (?!est|sont|était)\w+|quel(?:le)?s?|qui|quand|où"
    r"|pourquoi|que|qu['’]est-ce qui"
    r"|cu[aá]nt[oa]s? (?!cost|mide|sub|pag|vale|dur|gan|recib)\w+|cu[aá]nt[oa]s?|qu[eé] \w+"
    r"|qui[eé]n(?:es)?|cu[aá]ndo|d[oó]nde|por qu[eé]|cu[aá]l(?:es)?)(?!\w)"
)
"""The question word, and what is counted or chosen from."""
ASKS_CIRCUMSTANCE = _any_case(
    rf"\W*(?:{_BEFORE_KIND})?(?:when|where|why|how(?! many| much)|(?:what|which) (?:time|day|date|month|year))\b"
)
_INVERTING_TEXT = "did does do will would can could should must"
INVERTING = frozenset(_INVERTING_TEXT.split())
_AUXILIARIES_TEXT = """
is are was were be been being do does did has have had will would can could should may might must going
ist sind war waren wird werden wurde wurden worden hat haben hatte hatten soll sollen kann können muss müssen mussten
darf dürfen
est sont était étaient été sera seront a ont avait avaient va vont peut doit a-t-il a-t-elle a-t-on ont-ils ont-elles
est-il est-elle sont-ils sont-elles sera-t-il sera-t-elle
es son fue fueron era eran ha han había será serán va van puede están está sido se
"""
AUXILIARIES = frozenset(_AUXILIARIES_TEXT.split())
_BEFORE_NOUNS_TEXT = "the a an of in at on for from to by with that this their its his her after before during and"
BEFORE_NOUNS = frozenset(_BEFORE_NOUNS_TEXT.split())
COUNTED = _any_case(
    r"\W*(?:how many(?-i:(?: [A-ZÀ-Ý]\w+)*)|wie ?viele?|(?:à )?combien de|cu[aá]nt[oa]s?)\s+(?:\w+['’]s?\s)?(\w+)"
)
"""What is counted: the word after "how many"."""

NAMED = re.compile(r"\b([^\W\d_]{4,})(?: (?:of|von|de|du|del))? ([A-ZÀ-Ý][^\W\d_]{2,})")

PAST_TIME = _any_case(
    r"\b(?:last|previous) (?:year|season|month|century|decade)\b"
    r"|\b(?:letzte[nmrs]?|vorige[nmrs]?|vergangene[nmrs]?) (?:jahr|saison|monat|jahrhundert|jahrzehnt)\w*"
    r"|\b(?:an(?:n[ée]e)?|saison|mois|si[èe]cle) (?:derni(?:er|[èe]re)|pass[ée]e?|pr[ée]c[ée]dente?)\b"
    r"|\b(?:a[nñ]o|temporada|mes|siglo) (?:pasad[oa]|anterior)\b"
)
"""Not the time of the reports, so that an answer has to name it, too."""
NEW_IN_OFFICE = _any_case(
    r"\W*(?:who(?:['’]s| is| are| will be)(?: the)?|we(?:r|m) (?:ist|wird|sind)(?: der| die| das)?"
    r"|qui (?:est|sera|sont)(?: l[ea]s?)?|qui[eé]n(?:es)? (?:es|ser[aá]|son)(?: el| las?| los)?)"
    r"\s+(?:\S+\s+)?(?:new|next|neuer?n?|nouve(?:l|au|lle)s?|nuev[oa]s?)\b"
)
NEWLY = _any_case(
    r"\b(?:new|next|newly|nam(?:ed?|es|ing)|appoint\w*|elect\w*|w[io]ns?|succe\w+|replac\w+|becom\w*|became"
    r"|tak(?:es|ing) over|first|neu\w*|ernannt|ernennt|beruf\w+|gewählt|nachfolg\w*|übern\w+|wird|soll|künftig\w*"
    r"|nouve\w+|nomm\w+|élue?s?|succ[éè]d\w+|remplac\w+|nuev\w+|nombr\w+|elegid\w+|electo|electa|suced\w+"
    r"|sustitu\w+|reemplaz\w+)\b"
)

# Answers to "how old", "how far" and the like, by the beginning of the question.
_MEASURE = (
    rf"(?:\d[\d.,]*[\s-]?|\b(?:{_NUMBER_WORDS}|an?|one|ein\w*|une?|un[oa]?)[\s-])"
    r"(?:(?:and|und|et|y) a half )?(?:\w+[\s-])?"
)
_LENGTHS = (
    r"(?<!cubic )(?<!square )(?:k?m\b|cm\b|mm\b|(?!quadrat|kubik)\w*met(?:re|er|ro)|\w*mètre|kilom"
    r"|miles?\b|feet\b|foot\b|ft\b|inch|yards?\b|millas?"
    r"|light[- ]|lichtjahr"
    r"|années-lumi|años luz|pieds?\b|storeys?|stories|floors|stockwerk|étages|plantas)"
)
MEASURES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (_any_case(rf"\W*(?:{question})"), _any_case(answer))
    for question, answer in (
        (
            r"how old|at what age|wie alt|(?:à )?quel [âa]ge|(?:a )?qu[eé] edad|cu[aá]ntos a[nñ]os tiene",
            rf"{_MEASURE}(?:years?\b|year-old|months?\b|weeks?\b|days?\b|jahre?n?\b|\w*jährig|jährige|ans\b"
            rf"|mois\b|años\b|meses\b|century|centuries)"
            rf"|aged \d|, \d{{1,3}}\b|\(\d{{1,3}}\)|\bat \d\d\b|\d\w*jährig|\b\w+-year-old",
        ),
        (
            r"how (?:deep|far|tall|high (?:is|was|will|did|does|were|are)?(?! .*(?:rate|turnout|inflation"
            r"|price))|wide|long)"
            r"|wie (?:tief|weit|lang|breit|hoch)|quelle (?:hauteur|distance|longueur|profondeur|taille)"
            r"|de quelle (?:hauteur|longueur)"
            r"|cu[aá]nto mide|qu[eé] (?:altura|longitud|distancia|profundidad)",
            rf"{_MEASURE}{_LENGTHS}|{_MEASURE}(?:hect\w+|hektar|acres?|quadrat\w+|square)",
        ),
        (
            r"how heavy|how much (?:does|did|do) .* weigh|wie schwer|combien p[eè]se|quel poids|cu[aá]nto pesa",
            rf"{_MEASURE}(?:k?g\b|kilo|gram|\w*ton|pound|ounce|stone\b|pfund|libras|zentner)",
        ),
        (
            r"how fast|how quick\w*|wie schnell|[àa] quelle vitesse|quelle vitesse|a qu[eé] velocidad",
            rf"{_MEASURE}(?:mph|km|kph|knots?|miles (?:an|per) hour|kilomet\w+|kilomètres|stundenkilometer"
            rf"|noeuds|nudos|mbit|gbit|megabit|gigabit"
            r"|times|mal|fois|veces|%|percent|prozent|second|minute|sekunde|hour)",
        ),
        (
            r"how strong|how powerful|wie stark|quelle (?:force|magnitude)|de quelle magnitude|qu[eé] magnitud"
            r"|cu[aá]l fue la magnitud",
            rf"magnitude|\bstärke|magnitud|\b[3-9][.,]\d\b|{_MEASURE}(?:mph|km|kph|knots|mega\w+|kilo\w+"
            rf"|giga\w+|horsepower|ps\b|percent|%|prozent)",
        ),
        (
            r"how (?:hot|cold|warm)|wie (?:heiß|kalt|warm)|quelle temp[ée]rature|qu[eé] temperatura",
            rf"{_MEASURE}(?:°|[cf]\b|degrees?|grad|degrés|grados)",
        ),
        (
            r"how often|how frequently|wie oft|wie häufig|à quelle fréquence|cada cu[aá]nto|con qu[eé] frecuencia",
            r"\b(?:every|each|times|once|twice|daily|weekly|monthly|yearly|hourly|jede\w*|\w*mal|täglich"
            r"|wöchentlich|chaque|fois"
            r"|tous les|toutes les|cada|veces|todos los)\b",
        ),
    )
)

OTHER_DIMENSIONS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (_any_case(rf"\b(?:{asked})\b"), _any_case(rf"{_MEASURE}{_LENGTHS}s?[\s-](?:{others})\b"))
    for asked, others in (
        ("deep|tief|profondeur|profundidad", "high|tall|long|wide|hoch|lang|breit|de haut|de long|de alto|de largo"),
        ("high|tall|hoch|hauteur|altura", "deep|long|wide|tief|lang|breit|de profondeur|de long|de largo|de ancho"),
        ("long|lang|longueur|longitud", "deep|high|tall|wide|tief|hoch|breit|de haut|de large|de alto|de ancho"),
        ("wide|breit|largeur|anchura", "deep|high|tall|long|tief|hoch|lang|de haut|de long|de alto|de largo"),
    )
)

MEASURES_IT = _any_case(
    r"^\W*(?:it|he|she|they|this|these|that|er|sie|es|dies\w*|il|elle|ils|elles|ce|mide\w*|pesa|tiene)\b"
    r"|\b(?:long|length|high|height|tall|deep|depth|wide|width|weigh\w*|heavy|old|age[ds]?|fast|magnitude"
    r"|(?:years?|months?|weeks?|days?)[ -]old|lang|länge|hoch|höhe|tief|tiefe|breite?|breit|wiegt|wog|schwer|alt"
    r"|circul\w+|travel\w+|drove|fuhr\w*|roul\w+|jährig\w*|longueur|hauteur|haut|profond\w*|largeur|pèse"
    r"|[âa]gée?|mide\w*|longitud|altura|profundidad|pesa\w*|edad)\b"
)
"""A sentence that measures what the one before has named, as in "It is nine metres long"."""
OTHER_SUBJECT = re.compile(r"\W*(?:The|Das|Die|Der|Les?|La|L['’]|Las|Los|El) ?\w+")
"""A sentence whose subject is another thing than that of the question, which it does not name."""
AGE = _any_case(r"\W*(?:how old|wie alt|quel [âa]ge|qu[eé] edad|cu[aá]ntos a[nñ]os)")
SINCE = _any_case(
    r"\b(?:since|in|from|dating|seit|aus|von|en|depuis|desde|de) (?:1\d|20)\d\d\b"
    r"|\b\d{2,4} (?:AD|BC|n\. ?Chr|v\. ?Chr|apr\. J|av\. J|d\. ?C|a\. ?C)\b|\bAD \d"
)
"""The year something is from, which says how old it is."""
HIGH = _any_case(r"\W*(?:wie hoch|how high)\b(?!.*\b(?:zahl|anzahl|number)\b)")
LONG = _any_case(r"\W*how long (?:is|was|are|were|will .* be)\b")
LENGTH = _any_case(rf"{_MEASURE}{_LENGTHS}")
QUANTITY = _any_case(
    rf"(?:\d|\b(?:{_NUMBER_WORDS}))[\d.,]*[\s-](?:k?m|cm|k?g|(?:square|cubic|quadrat|kubik)?[\s-]?(?:kilo|centi"
    rf"|milli)?met(?:er|re|ro)n?s?"
    r"|kilo\w*|gram\w*|ton\w*|lit(?:er|re|ro)n?s?|hect\w+|hektar|acres?|miles?|feet|foot|pounds?|gallons?|barrels?"
    r"|barriles|millas|watts?|kilowatt\w*|megawatt\w*|gigawatt\w*|terawatt\w*|[kmgt]wh?|[kmgt]b|\w*bytes?|tokens?)\b"
)
"""A number with a unit that is no money, share or time."""
MUCH_MORE = _any_case(
    r"\W*(?:how much|(?:um )?wie ?viel|(?:de )?combien|cu[aá]nto) (?:\w+er|more|less|mehr|weniger|plus|moins"
    r"|más|menos)\b"
)
MUCH_OF = _any_case(r"\W*(?:how much|wie ?viel|combien de|cu[aá]nt[oa]) (\w+)")
COUNTS_OTHERS = _any_case(
    rf"\b(?:magnitude|stärke|magnitud|version|issue|number|no\.|n[º°])\s\d[\d.,]*"
    rf"|\b\d+[.,]\d+\b(?!\s*(?:million|billion|milli|millon|mrd|bn|m\b))(?<![.,]\d\d\d)"
    rf"|(?:\d|\b(?:{_NUMBER_WORDS}|one|a|ein\w*|une?|una?))[\d.,]*\s?(?:%|percent|per cent|prozent|pour cent"
    rf"|por ciento)"
    rf"|(?:\d|\b(?:{_NUMBER_WORDS}))[\d.,]*[\s-](?:{_UNITS}){_PLURAL}\b(?:-old)?"
    rf"|(?:\d|\b(?:{_NUMBER_WORDS}))[\d.,]*[\s-](?:times|mal|fois|veces|grad|degrees?|points?|punkte?|puntos?)\b"
    rf"|\b\d{{1,2}}(?:er|\.)? (?:de )?(?:{_MONTHS})\b|\b(?:{_MONTHS}) \d{{1,2}}\b|\b(?:19|20)\d\d\b"
    rf"|\b\d{{1,2}}[:.]\d\d\b"
)
"""Numbers that do not say how many: shares, times, versions, dates."""
DEMANDED = _any_case(
    r"\b(?:faces? up to|could (?:get|face)|demand\w*|wants?|wanted|calls? for|maximum|droht|drohen|forder\w+|verlang\w+"
    r"|höchst\w+|wollen|wollten?|veut|veulent|risque\w*|"
    r"réclam\w+|exig\w+|piden?|quieren?|podría)\b"
)
GERMAN_TEXT = _any_case(r"\b(?:der|das|dem|und|ist|wird|im|von|mit|für|auf|nicht|haben|hatte|wurden?|sind|eine?)\b")
TIMES = frozenset(f"{_MONTHS}|{_DAYS}".split("|"))
"""Capitalised in English, but no names: a report of November does not say so."""
CAPITALISED = frozenset(f"{_MONTHS}|{_DAYS}|euro|euros|million|millionen|milliarden|prozent".split("|"))

# --- Phrases and the words that mean the same

_PHRASES = {
    "die": r"(?:ums|das) leben (?:ge)?kommen|k(?:am|amen|ommen) ums leben|ums leben"
    r"|perd\w* la vi(?:e|da)|trouv\w* la mort|lost (?:his|her|their) li(?:fe|ves)",
    "defeat": r"los(?:e|es|t|ing) (?:to|against)|verl(?:or|iert|ieren) gegen|perdu contre|perdió contra",
    "happen": r"t(?:ake|akes|ook|aking) place|f(?:and|inden|indet)\b(?=[^.?]{0,60} statt\b)|stattfinden|stattgefunden"
    r"|(?:a|eu|aura|avoir) lieu|t(?:iene|uvo|endrá|ener) lugar",
    "succeeds": r"t(?:ake|akes|ook|aking) over|fill(?:s|ed)? in for|st(?:ands|ood) in for",
    "resigns": r"step(?:s|ped|ping)? down|quitt\w+ (?:son|sa|ses|le|leur) (?:postes?|fonctions?|gouvernement)"
    r"|(?:leav(?:es?|ing)|left) (?:his|her|their) (?:post|office|job)|dej\w+ (?:el|su) cargo",
    "cancelled": r"call(?:s|ed)? off|scrubbed",
    "head": r"à la tête|at the helm|an der spitze|al frente",
    "sale": r"g(?:o|oes|oing) on sale|went on sale|in(?: the)? (?:shops|stores)|hits? (?:the )?(?:shops|stores)",
    "repaired": r"back to normal|works? again|working again|back online",
    "dismissed": r"l(?:ay|ays|aid) off|let go",
    "übernimmt": r"übernimmt|übernahm",
    "retired": r"steps? back",
    "semifinal": r"semi-?finals?|demi-finales?|halbfinal\w*",
    "quarterfinal": r"quarter-?finals?|quarts? de finale|viertelfinal\w*|cuartos de final",
    "runoff": r"run-?offs?|second round|stichwahl|second tour|segunda vuelta|balotaje|ballottage",
}
PHRASES = tuple(_PHRASES)
"""Single words for phrases that mean the same."""
PHRASE = _any_case("|".join(rf"\b({pattern})\b" for pattern in _PHRASES.values()))

# --- Countries and their people

OF_PLACE = re.compile(
    r"(.{5,}?)(?:ians?|eans?|ans?|iens?|ienne|ese?|ish|isch|ium|ia|is|land|ais|ois|ern?|en|[iyeoa])\Z"
)
"""The end of a country or a people, after the stem of both."""

# --- Words that say nothing about the subject of a question

# Words of the general list that questions are about.
_CONTENT_WORDS_TEXT = """
new people work won day year years percent part parts high against under first last two three used want wants end
gegen jahr jahre neue arbeit zwei partie pouvoir trabajo dos tres
"""
CONTENT_WORDS = frozenset(_CONTENT_WORDS_TEXT.split())
_COMMON_WORDS_TEXT = """
working works worked possible happens involved affected going place places called name named known need needs neuer
neues neuen nouveau nouvelle nuevo nueva decide decided decides announce announced entscheiden entschied entschieden
beschließen beschloss beschlossen décider décidé annoncé decidir decidió anunciado anunció
"""
COMMON_WORDS = CONTENT_WORDS | frozenset(_COMMON_WORDS_TEXT.split())
_BEGINNINGS_TEXT = """
begin begins began start starts started beginnen beginnt begann startet commencer commence début empezar empieza
comienza
"""
BEGINNINGS = frozenset(_BEGINNINGS_TEXT.split())
_QUESTION_WORDS_TEXT = """
who whom whose what which when where why how please explain describe summarise summarize summary latest recently
wer wem wen wessen was wann warum wieso weshalb wie wo wohin woher welche welcher welches welchen welchem gestern
qui que quoi quel quelle quels quelles quand où pourquoi comment hier aujourd hui t-il t-elle il elle quién
quiénes qué cuál cuáles cuándo dónde cómo por chi cosa dove quale welk hoeveel waarom wanneer кто что когда где
почему зачем сколько какой какая какие
"""
QUESTION_WORDS = frozenset(_QUESTION_WORDS_TEXT.split())
