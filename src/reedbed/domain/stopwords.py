"""Stopwords, words that refer to the previous sentence, and a pattern for lines that are not prose."""

import re

_COMMON = """
a about after again against all also although am an and another any are aren't around as at back be
because been before being below between both but by came can can't come could couldn't day did didn't do
does doesn't doing don't down during each even every few first for from further get go going good got had
has have having he her here him his how i if in into is isn't it it's its itself just know last like
little long made make many may me might more most much must my need never new no not now of off on once
one only or other our out over own part people percent put really said same say says see she should since
so some still such take than that that's the their them then there these they thing things think this
those though three through time to too two under until up upon us use used very want was wasn't way we
well were what when where which while who why will with without won't work would year years you your aber
alle als auch auf aus bei beim bin bis da damit dann das dass dem den denn der des die dies diese diesem
diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwa für gegen gibt habe
haben hat hatte hatten hier ich ihm ihn ihr ihre ihrem ihren im immer ist ja jahr jahre jahren jedoch
jetzt kann kein keine können man mehr mein mit muss müssen nach nicht noch nun nur ob oder ohne sagte
schon sehr sei sein seine seinem seinen seit sich sie sind soll sollen sondern über um und uns unter
viele vom von vor war waren weil wenn werde werden wie wieder wir wird wo worden wurde wurden zu zum zur
zwei zwischen afin ainsi alors après au aucun aussi autre autres aux avait avant avec avoir ans c'est car
ce cela celle celui ces cette comme contre d'un d'une dans de depuis deux donc dont elle elles en encore
entre est et été être eux faire fait font il ils je jusqu l'on la le les leur leurs lors lui mais même
moins ne non nos notre nous ont ou où par pas pendant peu peut plus plusieurs pour pourquoi quand que
quel quelle qui s'est sans se selon ses si son sont sous sur ta tous tout toute toutes très trois un une
vers vos votre vous y al algo ante antes años aquí así aunque bien cada casi como con contra cual cuando
del desde después donde dos el él ella ellas ellos era eran esa ese eso esta está están este esto estos
fue fueron ha había han hasta hay hoy las lo los más mi mientras mismo muy nada ni nosotros o otra otro
para parte pero poco por porque pues qué quien según ser sí sido sin sobre solo su sus tal también tanto
tiene tienen toda todas todo todos tras tres tu una uno unos ya yo à ao aos apenas após até com deles
depois e é ela elas ele eles em essa esse estão eu foi foram há isso isto já lhe mas mesmo muito na não
nas nem nós num numa onde os outra outro pela pelas pelo pelos pode qual quando quem são segundo sem seu
seus só sob sua suas também tem têm teve tudo uma umas você vocês agli ai alla allo anche ancora anni
avere c'è che chi ci così cui dagli dai dal dalla dalle degli dei dell'anno della delle dello di dopo
dove due è ed erano essere fa fatto fino fra gli hanno ho io l'altro lei li loro ma mentre molto nei nel
nella nelle noi nostro ogni oggi per perché però più poi prima quanto quello questa queste questi questo
senza sia sono sotto sta stata stato sue sul sulla suo suoi tra tre tutti tutto aan alleen altijd andere
bij dan dat deze dit doen door dus een geen gaan haar heb hebben heeft hem het hij hoe hun ik jaar kan
kunnen maar meer men met mijn moet moeten naar niet nog nu om omdat onder ons ook op te tegen toch toen
tot twee uit van veel voor waar wat wel werd wil wordt zal ze zei zich zij zijn zo zonder zou att av bara
blev bli då denna det detta där efter eller ett från för hade har hon ibland inte jag kommer med mer mot
mycket måste när något någon och oss på sedan sig ska skulle som så till upp ut vad var vara vi vid år är
över af blive deres dig din dog ham hans hende hvad hvis hvor ikke ind jeg jo kun kunne lige mange mig
min mod når også sagde selv siger skal sådan til ud være været alt andre bare ble etter før gjør hennes
hva hvordan hvorfor kom mellom mens mye noe noen nå opp seg sier siden slik vil ale ani bardzo być był
była było były co czy dla gdy jak jako jednak jego jej jest już która które który którzy lub może nad nie
niż od oraz po pod podczas przed przez przy się są tak także tego tej ten tylko tym w wszystko wśród z za
że ve bir bu için ile olarak çok daha olan gibi kadar sonra ama ise değil göre şu biz siz onlar а без
более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если
есть еще же за и из или им их к как какие когда которая которые который кто ли мы на над не него нее нет
ни них но о об один она они оно от по под после при про с сам свои себя со так также такой там тем то
того тоже только том тот ту у уже чего чем что чтобы эта эти это этого этой этом этот я і що з як це та
але від його було є також які який якщо він або ми ви вони في من على إلى عن أن إن كان كانت هذا هذه ذلك
التي الذي ما لا لم كما بعد قبل بين مع أو ثم قد كل وقد وكان هو هي
"""

_LEANING = """
he she it they this that these those him her his hers its their theirs them such both another here there
then and but or so yet nor because although though however moreover furthermore meanwhile instead still
also thus therefore hence otherwise nevertheless nonetheless besides afterwards likewise similarly plus
anyway indeed again either neither well first second secondly third finally lastly next later now er sie
es dies diese dieser dieses diesem diesen das dem den ihm ihn ihr ihre sein seine aber und oder doch denn
deshalb daher darum dabei dadurch damit dann danach dort hier außerdem allerdings jedoch trotzdem dennoch
zudem auch zugleich stattdessen hingegen dagegen sondern derweil inzwischen il elle ils elles ce cela
cette ces cet celui celle ceci lui leur leurs son sa ses mais et ou donc ni car ainsi alors aussi
cependant pourtant toutefois ensuite puis enfin là ici en_outre él ella ellos ellas este esta esto estos
estas ese esa eso esos esas aquel aquella su sus pero y e o u sin_embargo así entonces además también
luego después allí aquí por_eso mientras tanto aunque ele ela eles elas isso isto esse essa esses essas
aquele aquela seu sua seus suas mas porém contudo assim então também depois ali aqui além portanto
entretanto egli lei essi questo questa questi queste quello quella quelli ciò suo loro ma ed però così
quindi allora inoltre anche poi qui lì tuttavia infine hij zij ze het dit dat deze die zijn haar hun maar
en of dus want toch ook daarna toen daar echter bovendien han hon det detta denna dessa hans hennes deras
men och eller så därför också sedan där här dock dette denne disse hendes deres og derfor også siden der
dog likevel on ona ono oni one ten ta to te jego jej ich ale i lub oraz więc jednak także tam tu potem
dlatego он она оно они это этот эта эти его ее её их но и или а поэтому также затем там здесь однако
тогда він вона воно вони це цей ця ці його її їх але і або тому також потім тут однак bu şu onlar ama ve
fakat ancak ayrıca böylece هو هي هم هذا هذه ذلك تلك لكن ولكن كما ثم أيضا
"""

SMALL: frozenset[str] = frozenset(_COMMON.split())
BACK_REFERENCES: frozenset[str] = frozenset(_LEANING.replace("_", " ").split())

CJK_BACK_REFERENCES = (
    "しかし", "また", "そして", "だが", "さらに", "なお", "ただ", "これ", "それ", "この", "その", "彼",
    "一方", "但", "而", "然而", "此外", "另外", "他", "她", "它", "这", "這", "那", "其", "因此",
    "所以", "同时", "不过", "그러나", "또한", "그리고", "하지만", "이는", "그는", "이에", "그녀", "한편",
)  # fmt: skip

NOT_PROSE = re.compile(
    r"""
    ^\W*(?:by\s+[A-Z]
      |图为|圖為|[资資]料[图圖照]|写真[はは：:]|사진\s?[=:]
      |(?:photo|image|picture|video|pictured|foto|bild|crédit|credit|source|quelle|fuente|fonte)s?\b\s?[:/(]
      |updated?\b|published\b|last\ modified|posted\b|(?:read|see)\ (?:more|also|next|our|the\ full)|related\b
      |watch:|listen:|more:|advertisement|sponsored|share\ |follow\ (?:us|me|him|her|@)|like\ us
      |join\ (?:us|our|the\ conv)|sign\ (?:up|in)|log\ in|subscribe|click|tap\ |download\ |copyright|©
      |all\ rights|terms\ of|privacy|skip\ to|table\ of\ contents|(?:leave|post)\ a\ comment|\d+\ comments?
      |view\ (?:all|gallery)|loading|disclosure|note:|hide\ caption|toggle\ caption|enlarge\b
      |the\ post\ .{1,200}\ appeared\ first|lesen\ sie\ (?:auch|mehr)|mehr\ (?:zum|dazu)|lire\ aussi|à\ lire
      |leia\ (?:mais|também)|veja\ (?:mais|também)|lea\ también|leer\ más|leggi\ anche|lees\ ook
      |läs\ (?:också|mer)|les\ også|czytaj\ (?:też|także)|читайте)
    |(?:use[sd]?|accept|allow|enable|disabled?|manage|reject|requires?)\s(?:[\w']+\s){0,3}(?:cookies?|javascript)\b
    |cookies?\ (?:settings|policy|preferences|notice)|javascript\ (?:is|must|has)
    |(?:our|my|your|this|free|daily|weekly|the)\ (?:\w+\ ){0,2}newsletter|e-?mail\ address|your\ (?:browser|inbox)
    |subscribers?\ only
    |(?:reporting|editing|writing)\ by\ [A-Z]|contributed\ to\ this\ (?:report|article|story)
    |ad\ blocker|terms\ (?:of|and)\ (?:use|con)|https?://
    |all\ rights\ reserved|alle\ rechte|tous\ droits|todos\ los\ derechos|todos\ os\ direitos
    """,
    re.IGNORECASE | re.VERBOSE,
)
