"""What strangers get from a page: every address of web/openapi.json, asked in every way that must not give data."""

import json
import pathlib

import cluster

DOCUMENT = json.loads((cluster.ROOT / "web" / "openapi.json").read_text(encoding="utf-8"))


def addresses(job):
    """All addresses of the API, with a query where one is demanded."""
    for path, methods in DOCUMENT["paths"].items():
        wanted = [one for one in methods["get"].get("parameters", []) if one.get("required") and one["in"] == "query"]
        yield "/api/v1" + path.replace("{id}", str(job)) + ("?" + "&".join(f"{one['name']}=h" for one in wanted) if wanted else "")


def leaks(given, other, secrets, job):
    """Asks as strangers do. `given`: a ticket that sees all; `other`: one of a user who may see none of `secrets`, words of data that a
    leak would have; `job` is the id of another user's job. Returns a sentence for each answer with data, and the number of questions."""
    site, token = given["site"], given["token"]
    host = site.split("//")[1]
    port = host.rsplit(":", 1)[1]
    good = {"Authorization": f"Bearer {token}"}
    ways = {
        "no token": {},
        "an unknown token": {"Authorization": "Bearer " + "0" * 64},
        "half a token": {"Authorization": f"Bearer {token[:32]}"},
        "an empty token": {"Authorization": "Bearer "},
        "a token of another scheme": {"Authorization": f"Basic {token}"},
        "a token in a cookie": {"Cookie": f"token={token}"},
        "a name that leads here": {**good, "Host": f"evil.example:{port}"},
        "a name that begins like ours": {**good, "Host": f"{given['name']}.evil.example:{port}"},
        "an address that others may have served before": {**good, "Host": f"127.0.0.1:{port}"},
        "localhost": {**good, "Host": f"localhost:{port}"},
        "the name of an earlier manager": {**good, "Host": f"{'0' * 32}.localhost:{port}"},
        "another address": {**good, "Host": "10.0.0.1"},
        "no name": {**good, "Host": ""},
        "a page of another site": {**good, "Origin": "http://evil.example"},
        "a page of another port": {**good, "Origin": f"http://{given['name']}:1"},
        "a page without an origin": {**good, "Origin": "null"},
        "another site, as the browser says": {**good, "Sec-Fetch-Site": "cross-site"},
    }
    found, asked = [], 0
    for path in addresses(job):
        for way, headers in ways.items():
            asked += 1
            status, sent, text = cluster.ask(site, path, headers=headers)
            if status < 400 or any(word in text for word in secrets["all"]):
                found.append(f"{way}: GET {path}: {status} {text[:80]}")
            if any(name.lower().startswith("access-control-") for name in sent):
                found.append(f"{way}: GET {path} lets other sites read it")
        for query in (f"token={token}", f"access_token={token}"):
            asked += 1
            status, _, text = cluster.ask(site, path + ("&" if "?" in path else "?") + query)
            if status < 400 or any(word in text for word in secrets["all"]):
                found.append(f"a token in the query: GET {path}: {status} {text[:80]}")
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            asked += 1
            status, _, text = cluster.ask(site, path, token, method=method)
            if status < 400 or any(word in text for word in secrets["all"]):
                found.append(f"{method} {path}: {status} {text[:80]}")
        asked += 1
        status, _, text = cluster.ask(site, path, other["token"])
        if any(word in text for word in secrets["job"]):
            found.append(f"another user's token: GET {path} has data of the job: {status} {text[:80]}")
        if f"jobs/{job}" in path and status != 404:
            found.append(f"another user's token: GET {path}: {status}")
        status, sent, _ = cluster.ask(site, path, token)
        if status != 200 or sent.get("Cache-Control") != "no-store":
            found.append(f"the right token: GET {path}: {status}, Cache-Control {sent.get('Cache-Control')}")
    for path in pathlib.Path(cluster.ROOT / "web").iterdir():
        asked += 1
        status, _, text = cluster.ask(site, f"/{path.name}", headers={"Host": f"evil.example:{port}"})
        if status < 400:
            found.append(f"a name that leads here: GET /{path.name}: {status}")
    return found, asked
