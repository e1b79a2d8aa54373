import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort } from '#base/free-port.ts'
import { localFile } from '#main/local-chains.ts'
import { nodeEnvironment } from './node-environment.ts'
import { eventually } from './world.ts'

/** The service is up by then, and asked to end. */
const WAIT_MS = 4_000

test('who asks the service to end while it still waits for its chains is heard', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-starting-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const silent = await serveNobody(t)
  const port = await freePort(0)
  const file = join(folder, 'ecosystem.json')
  writeFileSync(file, JSON.stringify(localFile(port, { base: silent, ethereum: silent })))
  const child = spawn(process.execPath, ['src/ops/cli/sexton.mjs', 'start'], {
    env: {
      ...nodeEnvironment,
      PORT: String(port),
      SEXTON_DATA: folder,
      SEXTON_ECOSYSTEM: file,
      SEXTON_METRICS_PORT: 'off',
      LOG_LEVEL: 'warn',
    },
    stdio: 'ignore',
  })
  t.after(() => child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  await eventually(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined)
    return answer === undefined ? undefined : true
  }, 30_000)
  child.kill('SIGTERM')
  assert.deepEqual(await exit, [0, null])
})

/** A node that lets everyone wait, and then has nothing to say. */
async function serveNobody(t: TestContext): Promise<string> {
  const server = createServer((_, response) => {
    setTimeout(() => response.writeHead(500).end(), WAIT_MS)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
