"""Countries and their people: names that do not begin alike in six letters, in four languages."""

from collections.abc import Mapping

from reedbed.domain.text import fold

# A group begins with the form that stands for it.
_GROUPS = """
algeria algerian algerians algerie algerienne algeriens argelia argelino argelinos
america american americans us usa amerika amerikaner amerikanische amerikanischen amerikanischer americain
    americaine americains americaines etats-unis estadounidense estadounidenses
argentine argentina argentinian argentines argentinien argentinische argentinischen argentino argentinos
austria austrian austrians osterreich osterreichische osterreichischen autriche autrichien autrichienne
    austriaco
belgium belgian belgians belgien belgische belgischen belgique belge belges belgica belgas
brasil brazil brazilian brazilians brasilien brasilianische brasilianischen bresil bresilien bresilienne
    brasileno brasilenos
britain british uk briten britische britischen grossbritannien britannique britanniques britanico britanica
    britanicos
canada canadian canadians kanada kanadische kanadischen canadien canadienne canadiens canadiense canadienses
chile chilean chileans chilenische chilenischen chili chilien chilienne chileno chilena chilenos
china chinese chinas chinesische chinesischen chinesischer chine chinois chinoise chinoises chino chinos
colombia colombian colombians kolumbien kolumbianische colombie colombien colombiano colombianos
cuba cuban cubans kuba kubanische cubain cubano cubanos
czech czechia czechs tschechien tschechische tschechischen tcheque checa checo
denmark danish danes dane danemark danische danischen danois danoise dinamarca danes danesa
egypt egyptian egyptians agypten agyptische agyptischen egypte egyptien egyptienne egipto egipcio
england english englische englischen angleterre anglais anglaise inglaterra ingles inglesa
europe european europeans europa europaische europaischen europaischer europeen europeenne europeens europeo
    europea
finland finnish finns finnland finnische finnischen finlande finlandais finlandia finlandes
france french frankreich franzosische franzosischen franzosischer francais francaise francaises francia
    frances francesa
germany german germans deutschland deutsche deutschen deutscher allemagne allemand allemande allemands
    alemania aleman alemana alemanes
greece greek greeks griechenland griechische griechischen grece grec grecque grecs grecia griego griega
    griegos
hungary hungarian hungarians ungarn ungarische ungarischen hongrie hongrois hongroise hungria hungaro
iceland icelandic icelanders island islandische islandischen islande islandais islandia islandes
india indian indians indien indische indischen inde indien indienne indio
iran iranian iranians iranische iranischen iranien iranienne irani iranies
iraq iraqi iraqis irak irakische irakischen irakien iraqui
ireland irish irland irische irischen irlande irlandais irlandaise irlanda irlandes
israel israeli israelis israelische israelischen israelien israelienne israeliens
italy italian italians italien italienische italienischen italie italienne italiens italia italiano italiana
    italianos
japan japanese japanische japanischen japon japonais japonaise japones japonesa japoneses
kenya kenyan kenyans kenia kenianische kenyane keniano
korea korean koreans sudkorea sudkoreanische coree coreen coreenne corea coreano
mexico mexican mexicans mexiko mexikanische mexikanischen mexique mexicain mexicaine mexicano mexicana
    mexicanos
morocco moroccan moroccans marokko marokkanische maroc marocain marocaine marruecos marroqui
nepal nepalese nepali nepalesische
netherlands dutch holland niederlande niederlandische niederlandischen pays-bas neerlandais hollandais
    holandes holandesa
norway norwegian norwegians norges norwegen norwegische norwegischen norvege norvegien norvegienne noruega
    noruego
pakistan pakistani pakistanis pakistanische
peru peruvian peruvians peruanische perou peruvien peruano peruana peruanos
philippines philippine filipino filipinos philippinen philippinische filipinas
poland polish poles polen polnische polnischen pologne polonais polonaise polonia polaco polaca
portugal portuguese portugiesische portugiesischen portugais portugaise portugues portuguesa
russia russian russians russland russische russischen russischer russie russe russes rusia ruso rusa rusos
scotland scottish scots schottland schottische schottischen ecosse ecossais escocia escoces
spain spanish spaniards spanien spanische spanischen espagne espagnol espagnole espagnols espana espanol
    espanola espanoles
sweden swedish swedes schweden schwedische schwedischen suede suedois suedoise suecia sueco sueca
switzerland swiss schweiz schweizer schweizerische suisse suisses suiza suizo suiza
syria syrian syrians syrien syrische syrischen syrie syriens siria sirio
taiwan taiwanese taiwanesische taiwanais
thailand thai thais thailandische thailande thailandais tailandia
turkey turkish turks turkei turkische turkischen turquie turc turque turcs turquia turco turca
ukraine ukrainian ukrainians ukrainische ukrainischen ukrainien ukrainienne ucrania ucraniano ucraniana
venezuela venezuelan venezuelans venezolanische venezuelien venezolano
vietnam vietnamese vietnamesische vietnamien vietnamita
wales welsh walisische gallois gales
""".strip().replace("\n    ", " ")

COUNTRIES: Mapping[str, str] = {
    fold(form): group.split()[0] for group in _GROUPS.splitlines() for form in group.split()
}
"""The first form of each other one."""
