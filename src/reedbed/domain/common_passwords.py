"""The first guesses of anyone who tries doors, written down as patterns: a base with a tail, and loners."""

BASES = """
password passw0rd p@ssword p@ssw0rd pa55word passwort motdepasse contrasena senha letmein welcome
admin administrator qwerty qwertyuiop qwertz azerty azertyuiop iloveyou monkey dragon master
sunshine princess football baseball superman batman starwars trustno1 whatever changeme secret
default login guest access computer internet samsung google facebook liverpool chelsea arsenal
michael jordan charlie jennifer ashley daniel thomas shadow summer winter spring autumn freedom
pokemon minecraft fuckyou asdfgh asdfghjkl zxcvbnm reedbed reader rssreader newsreader feedreader
"""

TAILS = """
1 12 123 1234 12345 123456 1234567 12345678 123456789 1234567890 ! !! 1! 12! 123! 1234! @123 @1234
#1 #123 0 00 01 007 69 99 111 321 666 777 888 999 000 2000 qwerty abc 2018 2019 2020 2021 2022 2023
2024 2025 2026 2027 2028 2029 2030
"""

LONERS = """
1q2w3e4r5t 1q2w3e4r5t6y 1q2w3e4r5t6y7u q1w2e3r4t5 q1w2e3r4t5y6 1qaz2wsx3edc 1qazxsw23edc
qazwsxedcrfv qazwsxedc1 zaq12wsxcde3 zaq1xsw2cde3 qweasdzxc123 qwerty12345 qwe123qwe123 123qweasdzxc
abcd123456 abc1234567 abcd12345678 a123456789 a1234567890 aa12345678 aa123456789 1234567890a
123456789a 0987654321 9876543210 1029384756 1357924680 2468013579 3141592653 3141592654 1111122222
1112223334 1122334455 11223344556 112233445566 1212121212 123123123a 123321123321 1233211234567
123654789a 1236547890 147258369a 1472583690 147852369a 159753456852 7894561230 789456123a
passwordpassword adminadmin rootrootroot testtesttest testtest123 test123456 testing123 testing1234
user123456 hello12345 hello123456 helloworld helloworld1 iloveyou12 iloveyou123 iloveyouso
iloveyou4ever mypassword mypassword1 mypassword123 newpassword newpassword1 yourpassword thepassword
nopassword password.1 passwordpass letmeinnow letmeinplease correcthorse correcthorsebatterystaple
opensesame blink182blink manchester manchester1 manchesterunited barcelona1 realmadrid realmadrid1
juventus1897 harrypotter harrypotter1 christopher christina1 alexander1 alexandra1 elizabeth1
jacqueline basketball basketball1 volleyball volleyball1 strawberry strawberry1 chocolate1
butterfly1 watermelon cheesecake sweetheart sweetheart1 spiderman1 undertaker california washington
metallica1 motorola123 alienware1 playstation playstation1 xboxone360 counterstrike leagueoflegends
"""
