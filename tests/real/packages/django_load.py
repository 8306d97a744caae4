# SPDX-License-Identifier: MIT
"""A site of Django with templates and a database answers 1,200 requests of four threads."""
import hashlib
import threading

import django
from django.conf import settings
from django.db import connection
from django.http import HttpResponse, JsonResponse
from django.template import engines
from django.test import Client
from django.urls import path

settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="x", USE_TZ=True,
                   DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "file:site?mode=memory&cache=shared"}},
                   TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}])
django.setup()
PAGE = "<ul>{% for number in numbers %}<li>{{ number|floatformat:2 }} {{ name|upper }}</li>{% endfor %}</ul>"


def page(request):
    template = engines["django"].from_string(PAGE)
    return HttpResponse(template.render({"numbers": range(int(request.GET["n"])), "name": "<b>"}, request))


def rows(request):
    with connection.cursor() as cursor:
        cursor.execute("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < %s) SELECT x, x * x FROM c",
                       [int(request.GET["n"])])
        return JsonResponse({"rows": cursor.fetchall()})


urlpatterns = [path("page", page), path("rows", rows)]


def load(place, answers):
    client = Client()
    digest = hashlib.sha256()
    for number in range(300):
        digest.update(client.get("/page" if number % 2 else "/rows", {"n": (number * place) % 97 + 1}).content)
    answers[place] = digest.hexdigest()


found = {}
threads = [threading.Thread(target=load, args=(place, found)) for place in (1, 2, 3, 4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(found.items()))
