"""Words too common to say what a text is about, in the languages whose feeds are followed most.

One set for all of them, because what is read together may be in several languages; a word that is common in one of them
and telling in another is rare, and the other words of its phrase carry it.
"""
# ruff: noqa: RUF001 - Cyrillic words are meant

_ENGLISH = """
a about above after again against all almost along already also although always am among an and another any anyone are
around as ask asked at away back be became because become been before being below between both but by called came can
could day days did do does doing done down during each either else even ever every few first five for former found
four from further gave get gets getting give given go goes going good got great had has have having he held her here
hers herself him himself his how however i if in including inside instead into is it its itself just keep know known
last later least left less like little long look made make makes making man many may me mean means might more most mr
mrs ms much must my near need never new next no nor not nothing now of off often old on once one only onto or other
others our out outside over own part people per percent perhaps place put quite rather really recent recently right
said same say saying says second see seem seen several she should show since six so some still such take taken takes
taking tell ten than that the their them themselves then there these they thing things think this those though three
through thus time times to today together told too took toward towards two under until up upon us use used uses using
very via want wants was way we week weeks well went were what when where whether which while who whom whose why will
with within without would year years yesterday yet you your yours
"""
_FRENCH = """
afin ai ainsi alors ans après au aucun aucune aujourd aujourdhui aussi autre autres aux avaient avait avant avec avez
avoir avons beaucoup bien car ce cela celle celles celui cent ces cet cette ceux chaque chez ci comme comment contre d
dans de depuis derrière des dès deux devant dire dit doit donc dont du elle elles en encore entre est et étaient était
étant été être eu eux faire fait faut fois font fut grand grande ici il ils j jamais je jour jours jusqu jusque l la
là le les leur leurs lire lors lorsque lui m ma mais mal me même mêmes mes mieux mois moins mon ne ni nombre non nos
notre nous nouveau nouvelle on ont or ou où par parce pas pendant personne peu peut peuvent plus plusieurs plutôt pour
pourquoi pouvoir premier première près puis qu quand que quel quelle quelles quelque quelques quels qui quoi s sa sans
se selon sera seraient serait ses seulement si sinon six soit son sont sous souvent sur ta tandis tant te tel telle
tes toi ton tous tout toute toutes très trois trop tu un une va vers voici voilà vont vos votre vous y à
"""
_GERMAN = """
ab aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus bald bei beim
bereits besonders bin bis bisher bist da dabei dadurch dafür dagegen daher damit danach dann daran darauf daraus darf
darin darüber das dass davon dazu dein deine dem den denen denn dennoch der deren des deshalb dessen die dies diese
diesem diesen dieser dieses doch dort drei du durch dürfen ein eine einem einen einer eines einige einigen einiger
einmal er erst erste ersten es etwa etwas euch für gab ganz gar gegen gegenüber geht gemacht gewesen gibt ging hab
habe haben hat hatte hatten hätte hätten heute hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer
in ins ist ja jahr jahre jahren jede jedem jeden jeder jedes jedoch jetzt kam kann kein keine keinem keinen keiner
kommen kommt können könnte könnten lassen lässt laut machen macht man mehr mehrere mein meine meist mich mit mir muss
müssen musste nach nachdem neben neu neue neuen neuer nicht nichts nie noch nun nur ob oder ohne prozent rund sagt
sagte schon sehr sei seien sein seine seinem seinen seiner seit selbst sich sie sieht sind so sogar soll sollen sollte
sollten sondern sonst sowie statt steht über um und uns unser unsere unter viel viele vielen vom von vor war waren
warum was wegen weil weiter weitere weiteren welche welchem welchen welcher welches wenig wenn wer werde werden wie
wieder will wir wird wo wollen worden wurde wurden würde würden zu zum zur zwar zwei zwischen
"""
_SPANISH = """
a al algo alguna algunas alguno algunos allí ambos ante antes año años aquel aquella aquellos aquí así aun aún aunque
bajo bien cada casi como cómo con contra cosa cual cuál cuales cualquier cuando cuándo cuanto de del desde después día
días dice dicho dijo donde dónde dos durante e el él ella ellas ello ellos en entre era eran es esa esas ese eso esos
esta está ésta estaba estaban están estar estas este éste esto estos fue fueron gran grandes ha había habían haber
hace hacer hacia han hasta hay he hoy incluso la las le les lo los luego más me mejor menos mi mientras mis mismo
misma mucho muchos muy nada ni ningún ninguna no nos nosotros nuestra nuestro nueva nuevo o otra otras otro otros para
parece parte pero poco por porque pues puede pueden primer primera puede que qué quien quién quienes se sea según
segundo ser será si sí sido siempre sin sino sobre sólo solo son su sus también tan tanto te tener tiene tienen toda
todas todavía todo todos tras tres tu un una unas uno unos usted va vez veces ya y yo
"""
_ITALIAN = """
abbiamo ad agli ai al alla alle allo anche ancora anni anno aveva avere che chi ci ciò come con contro cosa così cui
da dagli dai dal dalla dalle dallo degli dei del dell della delle dello dopo dove due durante ecco ed era erano essere
fare fatto fino fra gli ha hanno ho il in infatti invece io la le lei li lo loro lui ma mai meno mentre mi mia mio
molti molto ne negli nei nel nell nella nelle nello noi nostra nostro non nulla nuova nuovo oggi ogni oltre ora per
perché però più poco poi primo prima può qua quale quali quando quanto quella quelle quelli quello questa queste
questi questo qui quindi sarà se secondo sei sembra sempre senza si sia siamo solo sono sotto stata stati stato stesso
su sua sue sui sul sull sulla sulle suo suoi tra tre tutta tutte tutti tutto un una uno va verso via voi
"""
_PORTUGUESE = """
a ainda além algum alguma algumas alguns ano anos antes ao aos apenas após aquela aquele aqui as até cada coisa com
como contra da das de depois desde dessa desse desta deste dia dias diz disse do dois dos duas durante e é ela elas
ele eles em enquanto entre era eram essa essas esse esses esta está estão estas estava este estes eu faz fazer foi
foram grande há hoje isso isto já lá lhe mais mas mesma mesmo menos meu minha muito muitos na não nas nem nenhum neste
no nos nossa nosso nova novo num numa o onde ontem os ou outra outras outro outros para pela pelas pelo pelos pode
podem por porque primeira primeiro qual quando que quem se segundo sem sempre ser será seu seus sido só sob sobre sua
suas também tão tem têm ter teve tinha toda todas todo todos três tudo um uma umas uns vai vez vezes você
"""
_DUTCH = """
aan al alle alleen als altijd andere bij daar dan dat de deze die dit doen door dus een eens elke en er geen goed haar
had heb hebben heeft hem het hier hij hoe hun iets ik in is ja jaar jullie kan komen kon kunnen laten maar maken meer
men met mij mijn moet moeten na naar niet niets nieuwe nog nu of om omdat onder ons ook op over reeds sinds steeds te
tegen ter tot toch toen tussen twee uit uw van veel vooral voor wat wel werd werden wij wil worden wordt zal ze zei
zelf zich zij zijn zo zoals zonder zou zouden
"""
_OTHERS = """
att av de den det dem denna detta du eller en ett efter för från han har hade hon hur inte jag kan kommer man med men
mer mot när nu och om oss på sig sin ska som så till under upp ut vad var vi vid är över ikke jeg også blev blir være
ble etter fra han hun skal kunne som til ved vil være været og i at er af der det den de en et på med for ale aby
bardzo bez być był była było były co czy dla do go ich ile jak jako jest jego jej jeszcze już kiedy która które który
ma może można na nad nie niż od oraz po pod poza przed przez przy się są ta tak także tego tej ten to tych tylko tym
we więc wszystko za ze że lub без более был была были было быть вам вас ведь во вот все всего всех вы где да даже для
до его ее если есть еще же за здесь из или им их как какой когда которая которые который кто ли лишь между меня мне
много может можно мы на над надо нас не него нее нет ни них но ну об один одна однако она они оно от очень по под
после при про раз сам свои свой себе себя сейчас со так также такой там тем теперь то тоже того только том тот три ты
уже хотя чего чем через что чтобы это этого этой этом этот эту эти года году лет bir bu ve da de için ile çok daha
gibi olarak olan oldu ne ama en kadar sonra her var ya o şu mi değil na ya wa kwa ni katika za la cha vya hii hiyo huo
hilo hayo kuwa kama pia lakini au baada kabla sasa hivyo
"""

STOP_WORDS = frozenset(
    word
    for words in (_ENGLISH, _FRENCH, _GERMAN, _SPANISH, _ITALIAN, _PORTUGUESE, _DUTCH, _OTHERS)
    for word in words.split()
)
"""Case-folded words that never begin or end a key phrase."""
