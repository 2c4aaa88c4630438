// Wheels of an author's own, which another host has: nothing is asked before the reader agrees, then the program runs with them, and
// a wheel that was changed there is refused.
// @ts-check
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { serveSite } from "../harness/server.mjs";
import { REPOSITORY } from "../harness/site.mjs";
import { Snippet } from "./snippet_page.mjs";

const LIMIT_MS = 300_000;
const WHEELS = ["/ebb-1.0-py3-none-any.whl", "/tidal-1.0-py3-none-any.whl"];

/** A host of wheels on a port of its own, where the browsers' proxy is not in the way. It answers once it is told the folder. */
async function wheelHost() {
  /** @type {{folder: string, changed: boolean, asked: string[]}} */
  const host = { folder: "", changed: false, asked: [] };
  const server = createServer(({ url = "" }, response) => {
    host.asked.push(url);
    if (!host.folder) return void response.writeHead(503).end();
    const wheel = readFileSync(join(host.folder, basename(url)));
    response.writeHead(200, { "Access-Control-Allow-Origin": "*", "Content-Type": "application/zip" });
    response.end(host.changed ? Buffer.concat([wheel, Buffer.from("changed")]) : wheel);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", () => done(undefined)));
  const address = server.address();
  if (!address || typeof address === "string") throw new Error("the host of wheels has no port");
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { host, name: `127.0.0.1:${address.port}`, close };
}

/** @param {import("../harness/world.mjs").Facts} facts */
export function ownWheelsTests({ full }) {
  full("own wheels: they come from another host after the reader agreed, and a changed one does not run", async ({ browser }) => {
    const folder = mkdtempSync(join(tmpdir(), "own-wheels-"));
    const { host, name, close } = await wheelHost();
    const python = join(REPOSITORY, ".venv", "bin", "python");
    // Not synchronously: the host answers the build, that it has nothing.
    await promisify(execFile)(python, ["-m", "tests.own_wheels.build", folder, `http://${name}/`], { cwd: REPOSITORY });
    Object.assign(host, { folder: join(folder, "index"), asked: [] });
    const site = await serveSite(join(folder, "book", "site"));
    try {
      for (const changed of [true, false]) {
        host.changed = changed;
        await browser.open(site.base);
        const snippet = new Snippet(browser, "tides");
        await snippet.ready();
        await snippet.run();
        const ask = `${snippet.host} [data-slot="ask"]`;
        await browser.waitFor(() => document.querySelector('live-snippet [data-slot="ask"]')?.textContent);
        assert.match(await browser.text(ask), new RegExp(`does not have ebb, tidal\\. It can be loaded from ${name}`));
        assert.deepEqual(host.asked, [], "nobody is asked before the reader agrees");
        await browser.click({ role: "button", name: "Load and run", within: snippet.host });
        await snippet.ended();
        if (changed) assert.match(await snippet.output(), /could not be downloaded/);
        else assert.equal(await snippet.output(), "50.0");
        assert.deepEqual([...new Set(host.asked)].sort(), WHEELS);
        host.asked = [];
      }
    } finally {
      close();
      await site.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }, { limitMs: LIMIT_MS });
}
