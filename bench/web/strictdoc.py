#!/usr/bin/env python3
"""Drives StrictDoc's server: makes a document, starts the server on it, and prints as JSON what pages and an edit take.

    python strictdoc.py STRICTDOC FOLDER N_REQUIREMENTS ROUNDS < texts

STRICTDOC is its program. The texts are lines of JSON, a title and a statement each, which both sides of the comparison have. What is
measured is what a browser does: it loads a document's page, opens the form of a requirement, sends it, and gets the changed requirement
back in the answer; then the page is loaded again, because the change must be there, too.
"""

import gzip
import hashlib
import html.parser
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse

START_SECONDS_MAX = 900
REQUEST_SECONDS_MAX = 900


def main():
    program, folder, n_requirements, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    texts = [json.loads(line) for line in sys.stdin]
    source = os.path.join(folder, "input")
    os.makedirs(source, exist_ok=True)
    with open(os.path.join(source, "document.sdoc"), "w", encoding="utf-8") as file:
        file.write(document(texts, n_requirements))
    port = free_port()
    command = [program, "server", source, "--no-reload", "--port", str(port), "--output-path", os.path.join(folder, "output")]
    with open(os.path.join(folder, "log"), "wb") as log:
        started = time.perf_counter()
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            wait_until_ready(server, port, folder)
            ready_s = time.perf_counter() - started
            print(json.dumps({"ready_s": ready_s, **measure(port, rounds)}))
        finally:
            server.terminate()
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()


def document(texts, n_requirements):
    """A document with one section for each 50 requirements, as many as a story of the other side has."""
    lines = ["[DOCUMENT]", "TITLE: Benchmark", "OPTIONS:", "  ENABLE_MID: True", ""]
    for number in range(n_requirements):
        title, statement = texts[number % len(texts)]
        if number % 50 == 0:
            if number:
                lines += ["[[/SECTION]]", ""]
            lines += ["[[SECTION]]", f"MID: {mid('s', number)}", f"TITLE: Section {number // 50 + 1}", ""]
        lines += ["[REQUIREMENT]", f"MID: {mid('r', number)}", f"UID: REQ-{number + 1:05}", "STATUS: Active", f"TITLE: {title}"]
        lines += ["STATEMENT: >>>", statement, "<<<", ""]
    return "\n".join(lines + ["[[/SECTION]]", ""])


def mid(kind, number):
    return hashlib.md5(f"{kind}{number}".encode()).hexdigest()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_ready(server, port, folder):
    until = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < until:
        if server.poll() is not None:
            with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as log:
                sys.exit("the server has ended: " + log.read()[-2000:])
        try:
            ask(port, "GET", "/")
            return
        except OSError:
            time.sleep(0.2)
    sys.exit("the server does not start")


def ask(port, method, path, form=None):
    """Sends a request; returns the body, the seconds to the first byte, the seconds to the last, and the bytes transferred."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS_MAX)
    headers = {"Accept-Encoding": "gzip", "Accept": "text/vnd.turbo-stream.html, text/html"}
    body = None
    if form is not None:
        body = urllib.parse.urlencode([tuple(field) for field in form])
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    started = time.perf_counter()
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    first = answer.read(1)
    first_s = time.perf_counter() - started
    content = first + answer.read()
    all_s = time.perf_counter() - started
    connection.close()
    n_bytes = len(content)
    if answer.headers.get("Content-Encoding") == "gzip":
        content = gzip.decompress(content)
    if answer.status != 200:
        sys.exit(f"{method} {path}: {answer.status} {content[:1000]}")
    return content.decode(), first_s, all_s, n_bytes


class Form(html.parser.HTMLParser):
    """The fields of the form in a page, and where it is sent."""

    def __init__(self):
        super().__init__()
        self.fields, self.action, self.area = [], None, None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form":
            self.action = attributes.get("action")
        elif tag == "input" and attributes.get("name") and attributes.get("type") not in ("submit", "button", "checkbox"):
            self.fields.append([attributes["name"], attributes.get("value") or ""])
        elif tag == "textarea" and attributes.get("name"):
            self.fields.append([attributes["name"], ""])
            self.area = self.fields[-1]
        elif attributes.get("contenteditable") and attributes.get("data-name"):
            self.fields.append([attributes["data-name"], ""])
            self.area = self.fields[-1]

    def handle_endtag(self, tag):
        self.area = None

    def handle_data(self, data):
        if self.area is not None:
            self.area[1] += data


def measure(port, rounds):
    index, *_ = ask(port, "GET", "/")
    page = next(link for link in links(index) if link.endswith("document.html"))
    page = "/" + page.lstrip("/")
    cold = ask(port, "GET", page)
    pages = [ask(port, "GET", page) for _ in range(rounds)]
    edits = [edit(port, page, cold[0], number) for number in range(rounds)]
    median = statistics.median
    return {
        "cold_page_s": cold[2],
        "page_first_byte_s": median(one[1] for one in pages),
        "page_s": median(one[2] for one in pages),
        "page_bytes": pages[0][3],
        "form_s": median(one[0] for one in edits),
        "saved_s": median(one[1] for one in edits),
        "shown_s": median(one[2] for one in edits),
        "saved_bytes": edits[0][3],
    }


def links(page):
    return [part.split('"')[0] for part in page.split('href="')[1:]]


def edit(port, page, text, number):
    """Changes a requirement: the seconds until its form is there, until it is saved, until the page shows it; the bytes of the answer."""
    requirement = mid("r", number)
    document_mid = text.split('context_document_mid=')[1].split('"')[0].split("&")[0]
    query = {"node_id": requirement, "context_document_mid": document_mid}
    form, _, form_s, _ = ask(port, "GET", "/actions/document/edit_requirement?" + urllib.parse.urlencode(query))
    parsed = Form()
    parsed.feed(form)
    mark = f"Changed in round {number} of {time.time_ns()}."
    fields = parsed.fields
    values = [field for index, field in enumerate(fields) if index and fields[index - 1][1] == "STATEMENT"]
    if not values:
        sys.exit(f"the form has no statement: {fields}")
    values[0][1] += " " + mark
    started = time.perf_counter()
    answer, _, saved_s, n_bytes = ask(port, "POST", parsed.action, fields)
    if mark not in answer:
        sys.exit(f"the change was not saved: {answer[:2000]}")
    shown, *_ = ask(port, "GET", page)
    shown_s = time.perf_counter() - started
    if mark not in shown:
        sys.exit("the page does not show the change")
    return form_s, saved_s, shown_s, n_bytes


if __name__ == "__main__":
    main()
