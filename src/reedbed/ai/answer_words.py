"""What questions and their answers look like in English, German, French and Spanish: patterns and word groups."""

import re
from collections.abc import Mapping

# --- What a question asks for

_KINDS = {
    "amount": r"how (?:much|expensive|costly|full|cheap\w*)\b|by how much|(?:what|which) (?:share|percentage"
    r"|proportion|margin)"
    r"|what (?:is|was|are|were|does|did|do|will) .*\b(?:price|cost|value|worth|revenue|profit|rate|fee|fine|lose)\b"
    r"|by what margin|how high (?:is|was) .*\b(?:rate|turnout|inflation|price|unemployment)"
    r"|wie ?viel (?:geld|kostet|prozent|euro)|was kostet|(?:um )?wie ?viel\b|wie (?:teuer|hoch)\b"
    r"|welche[rn]? (?:anteil|preis)"
    r"|combien (?:co[uû]t|vaut)|(?:de|à) combien|quel(?:le)? (?:est|était|[ée]tait)? ?(?:le |la )?(?:prix"
    r"|valeur|part|taux)"
    r"|quelle part|cu[aá]nto (?:cost|cuest|vale|dinero|sub|baj|recib|cobr|pag)|qu[eé] porcentaje"
    r"|cu[aá]l (?:es|era|fue) (?:el|la) "
    r"(?:precio|tasa|valor|coste)",
    "duration": r"(?:for )?how long\b|wie lange\b|wie lang (?!ist|war|wird)|(?:combien de|quelle) (?:temps|dur[ée]e)"
    r"|cu[aá]nto (?:tiempo|dur)"
    r"|a cu[aá]ntos a[nñ]os",
    "number": r"how (?:many|old|fast|strong|far|big|large|high|deep|often|tall|wide|heavy|hot|cold|precise)\b"
    r"|what (?:was|is) the (?:death toll|number|area|maximum)|what area"
    r"|wie (?:viele|lang|alt|schnell|stark|weit|groß|tief|oft|heiß|schwer)\b|combien\b"
    r"|quel(?:le)? (?:hauteur|[aâ]ge|nombre|distance|taille)"
    r"|cu[aá]nt[oa]s?\b|qu[eé] (?:altura|edad|n[uú]mero|distancia)",
    "date": r"when\b|(?:at|on) what (?:time|day|date)|(?:what|which) (?:time|day|date|month|year)\b|since when"
    r"|until when"
    r"|wann\b|(?:seit|bis|ab) wann|(?:an )?welche[mnrs]? (?:tag|datum|jahr|monat)|quand\b|depuis quand"
    r"|(?:à )?quelle (?:heure|date)"
    r"|(?:en )?quelle ann[ée]e|cu[aá]ndo\b|(?:desde|hasta) cu[aá]ndo|(?:a|en) qu[eé] (?:hora|a[nñ]o|fecha|d[ií]a)",
    "person": r"who(?:m|se)?\b|which (?:politician|minister|person|player|author|judge)|we(?:r|m|n|ssen)\b|(?:à "
    r"|de )?qui\b|qui[eé]n(?:es)?\b",
    "place": r"where\b|in which (?:city|country|town|place|region)|wo(?:hin|her)?\b|in welche[rmn]? (?:stadt|land|ort)"
    r"|o[uù]\b|d'o[uù]\b|dans quel(?:le)? (?:ville|pays)|(?:a|de|en)? ?d[oó]nde\b|en qu[eé] (?:ciudad|pa[ií]s)",
    "cause": r"why\b|what (?:caused|causes|led to|started|brought|triggered)|what (?:was|is) the (?:cause|reason)"
    r"|for what reason|how come"
    r"|warum\b|wieso\b|weshalb\b|weswegen\b|was (?:war|ist) (?:der grund|die ursache)|pourquoi\b"
    r"|quelle (?:est|[ée]tait) la cause"
    r"|qu'est-ce qui a (?:provoqu|caus|d[ée]clench)|por qu[eé]\b|qu[eé] (?:provoc|caus|origin)",
    "thing": r"what\b|which\b|was\b|welche[rsnm]?\b|que\b|quoi\b|quel(?:le)?s?\b|qu'|qu[eé]\b|cu[aá]l(?:es)?\b",
}
KINDS: Mapping[str, re.Pattern[str]] = {
    kind: re.compile(rf"\W*(?:{pattern})", re.IGNORECASE) for kind, pattern in _KINDS.items()
}

# --- What an answer of each kind holds

_NUMBER_WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    "|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|dozens?|hundreds?|thousands?|millions?|half|third|fifth|quarter"
    "|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|(?:drei|vier|fünf|sech|sieb|acht|neun)zehn"
    "|(?:\\w+und)?(?:zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig)|\\w*hundert|\\w*tausend|dutzende?"
    "|millionen|hälfte|drittel|viertel"
    "|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|vingt|trente|quarante"
    "|cinquante|soixante|cents?|mille|dizaines?|douzaine|centaines?|milliers|moitié|tiers"
    "|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince|dieci\\w+|veinte|veinti\\w+"
    "|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa|cien|ciento|\\w+cient[oa]s|mil|miles|docena|mitad|tercio"
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


def _any_case(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


NUMBER = _any_case(rf"\d|\b(?:{_NUMBER_WORDS})\b|\b(?:{_NUMBER_WORDS})-")
COSTS = _any_case(
    r"\b(?:cost\w*|price\w*|expensive|cheap\w*|worth|value|pay|paid|fine|kostet\w*|kosten|teuer|preis\w*"
    r"|geld|wert|co[uû]t\w*|prix|valeur|"
    r"cuesta\w*|cost[óo]\w*|precio|vale|dinero|valor)\b"
)
MONEY = _any_case(
    r"[$£€]\s?\d|\d\s?[$£€]|\b(?:million|billion|milliard|millon|milli|mrd|mio|bn)\w*|"
    rf"(?:\d|\b(?:{_NUMBER_WORDS}))[\d.,]*\s(?:\w+\s)?(?:pounds?|dollars?|euros?|crowns?|kron\w+|francs?"
    rf"|pesos?|yen|pfund)\b"
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
    rf"\b(?:{_MONTHS}|{_DAYS}|tomorrow|yesterday|tonight|morgen|gestern|heute|demain|hier|mañana|ayer|next"
    rf"|nächste\w*|spring|"
    r"summer|autumn|winter|frühjahr|sommer|herbst|printemps|été|automne|hiver|primavera|verano|otoño|invierno)\b"
)
STRONG_CAUSE = _any_case(
    r"\b(?:because|due to|caused?|blamed?|to blame|owing to|citing|reason|dispute|started by|weil|wegen"
    r"|aufgrund|grund|ursache|"
    r"auslöser|nachdem|ausgelöst|parce qu|à cause|en raison|provoqu\w+|causé\w*|faute de|porque|debido"
    r"|causad\w+|provoc\w+|"
    r"por culpa|motivo|origin[óoa]\w*|triggered|sparked|ausgelöst|déclench\w+)"
)
CAUSE = _any_case(
    r"\b(?:after|over|in protest|in response|thanks to|led to|so that|result|failed|behind|nach|um gegen"
    r"|gegen|durch|après|"
    r"contre|afin|suite à|tras|contra|por)\b"
)
PLACE = re.compile(
    r"\b(?:in|at|near|off|on|from|outside|around|to|bei|nach|aus|vor|an|im|am|à|au|en|dans|près de|de|a|cerca de) "
    r"(?:the |der |dem |den |la |le |l'|el |los |las |(?:a|an|town|city) [a-z]+ (?:of |near |in )?)?[A-ZÀ-Ý]\w+"
    r"|\b(?:in|at|on|inside|under|behind|dans|sous|sur|im|in einem|in einer|en|bajo) (?:an? |the |un |une "
    r"|el |la |le )?\w{4,}"
)
NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-ZÀ-Ý][\w’'-]+(?: [A-ZÀ-Ý][\w’'-]+)*")
PERSON = re.compile(r"\b[A-ZÀ-Ý][\w’'-]+(?: (?:de |von |van |del )?[A-ZÀ-Ý][\w’'-]+)+\b")

COUNTED = _any_case(r"\W*(?:how many|wie ?viele?|(?:à )?combien de|cu[aá]nt[oa]s?)\s+(?:\w+['’]s?\s)?(\w+)")
"""What is counted: the word after "how many"."""

# Answers to "how old", "how far" and the like, by the beginning of the question.
MEASURES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (_any_case(rf"\W*(?:{question})"), _any_case(answer))
    for question, answer in (
        (
            r"how old|wie alt|quel [âa]ge|qu[eé] edad",
            r"\b\d{1,3}[- ]years?|year-old|aged \d|, \d\d,|jährige|jahre alt|\bans\b|años",
        ),
        (
            r"how (?:deep|far|tall|high (?:is|was|will)?(?! .*(?:rate|turnout|inflation|price))|wide)"
            r"|wie (?:tief|weit|groß|lang)|quelle (?:hauteur|distance)|cu[aá]nto mide",
            r"\d\s?-?(?:k?m\b|cm\b|kilom|met|miles?|feet|foot|ft\b|centi|mèt|millas?|light|lichtjahr"
            r"|années-lumi|años luz)"
            r"|\b\w+ (?:centi|kilo)?(?:met(?:re|er|ro)s?|mètres?|metern?)\b",
        ),
        (
            r"how heavy|how much (?:does|did|do) .* weigh|wie schwer|combien p[eè]se|quel poids|cu[aá]nto pesa",
            r"\d\s?(?:k?g\b|kilo|gram|ton|pound|ounce|stone\b|tonne|pfund|libras)",
        ),
        (
            r"how fast|wie schnell|[àa] quelle vitesse|a qu[eé] velocidad",
            r"\d\s?(?:mph|km/h|kph|knots|miles an hour|noeuds|nudos)",
        ),
        (r"how strong|wie stark", r"magnitude|stärke|magnitud|\b[4-9][.,]\d\b"),
        (r"how hot|how cold|wie (?:heiß|kalt|warm)", r"\d\s?(?:°|degrees?|grad|degrés|grados)"),
        (
            r"how often|wie oft",
            r"\b(?:every|times|once|twice|daily|weekly|jede\w*|mal|täglich|chaque|fois|cada|veces)\b",
        ),
    )
)

QUANTITY = _any_case(
    rf"(?:\d|\b(?:{_NUMBER_WORDS}))[\d.,]*[\s-](?:k?m|cm|k?g|(?:square|cubic|quadrat|kubik)?[\s-]?(?:kilo|centi|milli)?met(?:er|re|ro)n?s?"
    r"|kilo\w*|gram\w*|ton\w*|lit(?:er|re|ro)n?s?|hect\w+|hektar|acres?|miles?|feet|foot|pounds?|gallons?|barrels?"
    r"|barriles|millas|watts?|kilowatt\w*|megawatt\w*|gigawatt\w*|terawatt\w*|[kmgt]wh?|[kmgt]b|\w*bytes?|tokens?)\b"
)
"""A number with a unit that is no money, share or time."""
MUCH_OF = _any_case(r"\W*(?:how much|wie ?viel|combien de|cu[aá]nt[oa]) (\w+)")
DEMANDED = _any_case(
    r"\b(?:faces? up to|could (?:get|face)|demand\w*|calls? for|maximum|droht|drohen|forder\w+|verlang\w+"
    r"|höchst\w+|risque\w*|"
    r"réclam\w+|exig\w+|piden?|podría)\b"
)
GERMAN_TEXT = re.compile(r"\b(?:der|das|dem|und|ist|wird|im|von|mit|für|auf|nicht)\b", re.IGNORECASE)
TIMES = frozenset(f"{_MONTHS}|{_DAYS}".split("|"))
"""Capitalised in English, but no names: a report of November does not say so."""
CAPITALISED = frozenset(f"{_MONTHS}|{_DAYS}|euro|euros|million|millionen|milliarden|prozent".split("|"))

# --- Words that mean the same in questions and reports; a group may hold several languages

_GROUPS = """
die dies died dying kill killed dead death deaths toll fatal victim victims sterben starb starben tot tote getötet
  opfer mort morts mourir tué décès victime morir murió muerto muertos víctima
quake earthquake tremor beben erdbeben séisme tremblement terremoto sismo temblor
robbery theft raid heist steal stole stolen thief burglary loot copied copy diebstahl gestohlen dieb raub vol volé
  voleur robo robado robar ladrón
cost costs costly price priced worth value pay expensive fare euro euros dollar dollars pounds crowns kosten
  kostet preis teuer wert coût coûter prix valeur precio costo costar cuesta valor caro
blame fault reason cause caused because ursache grund raison provoquer provoqué causa motivo provocó
begin begins began begun start starts started starting launch beginnen beginnt begann anfangen commencer débuter
  début empezar comenzar inicio
win won wins victory beat defeat elect elected election winner gewinnen gewann gewonnen sieg gewählt wahl gagner
  gagné victoire élu élection ganar ganó victoria elegido elecciones
strike strikes striking walkout walk stoppage streik streiken niederlegen niederlegung arbeit arbeitsniederlegung
  grève débrayage huelga paro
resign resigns resigned resignation quit quits step steps stepped stepping leave left office rücktritt
  zurücktreten zurückgetreten amt démission démissionner dimitir dimisión renuncia
succeed succeeds succeeded successor named replace replaces replaced appoint appointed nachfolger nachfolgerin
  ernannt remplacer remplace succéder nommé sucesor nombrado reemplazar
head heads lead leads led leader run runs ran chief boss governor director chef leiten leitet chefin diriger
  dirige chef dirigeant dirigir jefe
release releases released publish announce unveil unveils present presented show showed launched veröffentlichen
  vorgestellt publier lancer présenter publicar lanzar presentar
rise rises rose raise raised jump increase increased lift lifted climb grew steigen stieg gestiegen erhöhen
  anstieg augmenter hausse monter subir aumentar subida subieron
fall falls fell drop drops lower lowered lowers reduce cut cuts decrease slide lost lose sinken sank gesunken
  senken fallen gefallen rückgang baisser baisse réduire bajar caer reducir caída
arrest arrested charge charged detain accused accuse festgenommen verhaftet angeklagt anklage arrêter arrêté
  inculpé detener detenido acusado
jail jailed prison sentence sentenced haft gefängnis verurteilt strafe prison condamné peine cárcel prisión
  condenado condena
convict convicted guilty schuldig verurteilt coupable condamné culpable condenado
fire wildfire blaze flames burn burned brand feuer waldbrand incendie feu incendio fuego llamas quemar quemó
delay delayed postpone postponed verspätung verschoben retard reporté retraso aplazado
strong strength magnitude powerful stark stärke force puissant magnitude fuerte magnitud
wind winds gust gusts mph kmh windgeschwindigkeit vent viento
outage failure fault crash down unreachable offline ausfall panne panne coupure apagón fallo avería
crash collide collided collision accident hit struck unfall zusammenstoß accident collision accidente choque
injure injured hurt wounded broke verletzt verletzte blessé blessés herido heridos
survive survivor alive überleben lebend survivre vivant sobrevivir vivo
oppose opposed opposition against dagegen gegen contre contra
decide decided decision vote voted entscheiden entscheidung beschließen beschlossen stimmen décider décision voter
  decidir decisión votar
attack attacked attacker attackers hack hacked hacker hackers breach leak angriff angreifer attaque pirates ataque
  atacantes
protest protests protestieren protester manifester protestar
close closed closes shut shuts closure blocked schließen geschlossen gesperrt sperrung sperren fermer fermé
  fermeture cerrar cerrado cierre
open opens opened opening öffnen öffnet eröffnet eröffnung eingeweiht einweihung freigegeben ouvrir ouvert
  ouverture abrir abierto apertura
beach beaches strand stranding plage playa
company firm maker manufacturer start-up unternehmen firma hersteller entreprise société empresa compañía
doctor doctors medic physician surgery surgeries practice practices arzt ärzte praxis médecin médico
plane planes aircraft jet flight flights flugzeug flug flüge avion vol vols avión vuelo
train trains rail railway zug züge bahn fernzüge train trains ferroviaire tren trenes
demand demands want wants ask asks call verlangen fordern fordert forderung réclamer demander exiger pedir piden
  exigir reclamar
trap trapped buried freed rescue rescued found verschüttet gerettet piégé sauvé atrapado rescatado
minister ministry ministerin ministerium ressort ministre ministère ministro ministra ministerio
patient patients record records data patientendaten daten données datos paciente
goalkeeper goalie keeper torwart gardien portero
phone smartphone handy telefon telefone téléphone teléfono
watch smartwatch uhr montre reloj
flight-attendant attendant attendants cabin crew stewardess flugbegleiter hôtesse azafata
low-cost budget cheap billig
job jobs stelle stellen arbeitsplätze emploi emplois poste empleo puestos
bridge brücke pont puente
ship ships vessel ferry boat trawler schiff fähre boot navire bateau barco buque
fix fixes fixed repair repaired mend bugfix reparieren repariert reparatur réparer réparation reparar reparación
build building built construct bauen gebaut bau construire construction construir construcción
ban banned forbid prohibit verbieten verbot verboten interdire interdit prohibir prohibido
buy bought purchase acquire takeover kaufen gekauft kauf acheter achat comprar compra
sell sold sale sales verkaufen verkauft verkauf vendre vente vender venta
area hectare hectares acres fläche hektar superficie hectáreas
unemployment jobless arbeitslos arbeitslosigkeit chômage paro desempleo
rate rates zins zinsen leitzins zinssatz taux tasa tipo tipos
destroy destroyed burnt zerstört zerstören détruit détruire destruir destruyó
missing vermisst disparu disparus desaparecido desaparecidos
agree agreed agreement deal settle settled end ended einigung einigen vereinbarung accord acuerdo
""".strip()


def synonym_groups() -> list[list[str]]:
    return [str(group).split() for group in _GROUPS.replace("\n  ", " ").splitlines()]


# --- Countries and their people

OF_PLACE = re.compile(
    r"(.{4,}?)(?:ians?|eans?|ans?|iens?|ienne|ese?|ish|isch|ium|ia|is|land|ais|ois|ern?|en|[iyeoa])\Z"
)
"""The end of a country or a people, after the stem of both."""

# --- Words that say nothing about the subject of a question

_MEASURE_WORDS_TEXT = """
cost costs costly price expensive cheap cheaper worth value maximum minimum share percentage porcentaje hauteur
prix coût coûte coûterait kostet kosten preis teuer anteil cuesta costó precio dinero hacen during durante pendant
während near statt bleibt author away deep tall heavy wide money per own owns owned have person thing kind type
use made make took take last now long old far fast big large high hot cold much many often get gets got number
amount time say said tell told happen happened report reported mean year years day days people become became does
did do be there going will would find take took put came come go went keep kept anybody anyone somebody someone
exactly currently precise measuring viel viele wieviel lang lange hoch tief weit groß oft alt geld menschen jahr
jahre tag tage heute jetzt künftig gibt gab machen macht werden worden wurde kommt kam geht ging combien beaucoup
temps personnes ans jours année est-ce fait faire reste cuánto cuántos cuántas años días personas hay hace hizo
tiempo ahora mucho será
"""
MEASURE_WORDS = frozenset(_MEASURE_WORDS_TEXT.split())
# Words of the general list that questions are about.
_CONTENT_WORDS_TEXT = """
new people work day year years percent part parts high against under first last two three used want wants end
gegen jahr jahre neue arbeit zwei partie pouvoir trabajo dos tres
"""
CONTENT_WORDS = frozenset(_CONTENT_WORDS_TEXT.split())
GERMAN_QUESTION = re.compile(
    r"\b(?:wer|wem|wen|was|wann|warum|wieso|weshalb|wie|wo|wohin|welche[rsnm]?|der|die|das|den|dem|des|ist"
    r"|wird|und)\b",
    re.IGNORECASE,
)
# Before a common noun in German, where all nouns are capitalised.
GERMAN_ARTICLES = re.compile(
    r"(?:der|die|das|den|dem|des|ein|eine[rmns]?|im|am|beim|zum|zur|vom|ins|ans|viele?|welche[rsnm]?"
    r"|kein\w*|sein\w*|ihr\w*|\w{3,}(?:en|er|es|em|e))\Z",
    re.IGNORECASE,
)

_QUESTION_WORDS_TEXT = """
who whom whose what which when where why how please explain describe summarise summarize summary latest recently
wer wem wen wessen was wann warum wieso weshalb wie wo wohin woher welche welcher welches welchen welchem gestern
qui que quoi quel quelle quels quelles quand où pourquoi comment hier aujourd hui t-il t-elle il elle quién
quiénes qué cuál cuáles cuándo dónde cómo por chi cosa dove quale welk hoeveel waarom wanneer кто что когда где
почему зачем сколько какой какая какие
"""
QUESTION_WORDS = frozenset(_QUESTION_WORDS_TEXT.split())
