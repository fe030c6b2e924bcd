"""Every way to spell an address that nobody outside may reach, as URLs, and names that lead there."""

NAMES = {
    "inside.test": ["10.0.0.1"],
    "loop.test": ["127.0.0.1"],
    "six.test": ["fd00:ec2::254"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "nat64.test": ["64:ff9b::7f00:1"],
    "sixtofour.test": ["2002:7f00:1::1"],
    "shared.test": ["100.64.0.1"],
    "many.test": ["10.0.0.1", "192.168.1.1", "::1"],
    "7f000001.nip.io": ["127.0.0.1"],
    "127.0.0.1.nip.io": ["127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "www.youtube.com": ["169.254.169.254"],
    "youtu.be": ["169.254.169.254"],
    "www.reddit.com": ["169.254.169.254"],
    "www.google.com": ["169.254.169.254"],
    "www.bing.com": ["10.0.0.1"],
    "cdn.ampproject.org": ["127.0.0.1"],
    "x.cdn.ampproject.org": ["127.0.0.1"],
    "xn--bcher-kva.test": ["127.0.0.1"],
}
"""Names that resolve to inside addresses only."""

HOSTS = (
    # IPv4: plain, short, decimal, octal, hexadecimal, mixed, padded
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "168.63.129.16",
    "192.0.0.192",
    "198.18.0.1", "192.0.2.1", "240.0.0.1", "0.0.0", "0", "255.255.255.255", "224.0.0.1",
    "127.1", "127.0.1", "10.1", "2130706433", "017700000001", "0x7f000001", "0x7f.1", "0x7f.0.0.1", "0177.0.0.1",
    "0177.1", "0X7F.0X1", "00000177.0.0.1", "0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "0xa9.254.0251.254",
    "169.16689662", "127.0.0.1.", "2130706433.", "0x7f.1.",
    # full-width, circled, other scripts' digits, other full stops, percent-encoded
    "\uff11\uff12\uff17.\uff10.\uff10.\uff11", "127\u30020\u30020\u30021", "127\uff0e0\uff0e0\uff0e1",
    "127\uff610\uff610\uff611",
    "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460", "\U0001d7cf\U0001d7d0\U0001d7d5.0.0.1", "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "%6c%6f%63alhost", "\u0661\u0662\u0667.0.0.1", "0x\uff17f.1", "127.0.0.1\u200b", "\xad127.0.0.1",
    # names
    "localhost", "localhost.", "LOCALHOST", "lo\u212aalhost", "\uff4cocalhost", "a.localhost", "b\u00fccher.test",
    *(name for name in NAMES if "xn--" not in name), "inside.test.", "INSIDE\u3002test",
    # IPv6: loopback, mapped, compatible, NAT64, 6to4, Teredo, site-local, unique local, zones
    "[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:a9fe:a9fe]",
    "[::ffff:a9fe:a9fe]", "[::ffff:0:127.0.0.1]", "[::127.0.0.1]", "[::7f00:1]", "[64:ff9b::7f00:1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]", "[2002:7f00:1::1]", "[2002:7f00:1::]", "[2001:0:7f00:1::1]",
    "[fec0::1]",
    "[fc00::1]", "[fd00:ec2::254]", "[100::1]", "[ff02::1]", "[fe80::1]", "[fe80::1%25lo]", "[fe80::1%lo]",
    "[::1%25lo]",
    "[::1%lo]", "[::1].", "[::1", "::1",
)  # fmt: skip
_TRICKS = (
    "http://good@127.0.0.1/", "http://good.example@127.0.0.1/", "http://public.test:80@127.0.0.1/",
    "http://public.test%40127.0.0.1@10.0.0.1/", "http://127.0.0.1\\@public.test/", "http://127.0.0.1\\.public.test/",
    "http://127.0.0.1#@public.test/", "http://127.0.0.1?@public.test/", "http:127.0.0.1/", "http:/127.0.0.1/",
    "http:///127.0.0.1/",
    "http:\\\\127.0.0.1\\", "http://127.0.0.1:80/", "http://127.0.0.1:8080/", "http://127.0.0.1:00080/",
    "https://127.0.0.1/",
    "https://[::1]/", "http://127.0.0.1:/", "http://user:pass@[::ffff:a9fe:a9fe]:80/", "\thttp://127.0.0.1/",
    "ht\ntp://127.0.0.1/",
    "http://127.0.\t0.1/", "http://[::ffff:127.0.0.1]:8080/", "HTTP://127.0.0.1/",
    "http://%31%32%37%2e%30%2e%30%2e%31/",
    "https://www.youtube.com@127.0.0.1/watch?v=dQw4w9WgXcQ", "http://www.reddit.com@127.0.0.1/r/python",
    "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "https://youtu.be/dQw4w9WgXcQ", "https://www.reddit.com/r/python/",
    "ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1:80/_", "dict://127.0.0.1:80/",
    "jar:http://127.0.0.1!/",
    "unix:/var/run/docker.sock", "data:text/html,x", "javascript:alert(1)", "//127.0.0.1/",
    "http://[::ffff:127.0.0.1%25lo]/",
    # Shown by an AMP viewer or cache
    "https://www.google.com/amp/127.0.0.1:8080/x", "https://www.google.com/amp/s/127.0.0.1/x",
    "https://www.google.com/amp/10.0.0.1/x", "https://user:pass@www.google.com/amp/127.1/x",
    "https://www.bing.com/amp/127.0.0.1/x", "https://cdn.ampproject.org/v/169.254.169.254/latest",
    "https://x.cdn.ampproject.org/c/127.0.0.1:8080/x", "https://x.cdn.ampproject.org/c/a.localhost/x",
)  # fmt: skip
SPELLINGS = (*(f"http://{host}/" for host in HOSTS), *_TRICKS)

HANDS = 4
"""So many spellings are taken at a time: most of the time goes into waiting for the database."""
