# SPDX-License-Identifier: MIT
"""Documents are parsed, searched, transformed and written."""
from lxml import etree

text = "<shop>%s</shop>" % "".join("<item n='%d'><name>thing %d</name><price>%d</price></item>" % (i, i % 97, i * 7 % 1000)
                                   for i in range(20_000))
tree = etree.fromstring(text)
print(len(tree.xpath("//item[price > 990]")), tree.xpath("sum(//price)"))
style = etree.XSLT(etree.XML("""<x:stylesheet version="1.0" xmlns:x="http://www.w3.org/1999/XSL/Transform">
<x:template match="/"><o><x:for-each select="//item[@n &lt; 3000]"><p><x:value-of select="name"/></p></x:for-each></o></x:template>
</x:stylesheet>"""))
print(len(etree.tostring(style(tree))))
