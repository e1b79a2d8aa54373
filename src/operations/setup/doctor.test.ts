import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import localEcosystem from '#chains/ecosystem/ecosystems/local.ts'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import { readSettings } from '#main/settings.ts'
import { openStores } from '#main/stores.ts'
import type { Role } from '#operations/grants/rights.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { makeDatabaseRole } from '#test/database-role.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { examine, judgePackage } from './doctor.ts'

const onProgress = () => undefined

let server: TestPostgres
let folder: string
before(async () => {
  server = await startPostgres()
  folder = await mkdtemp(join(tmpdir(), 'sexton-doctor-'))
})
after(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})

function examineWith(environment: Readonly<Record<string, string>>, role?: Role) {
  const given = { PORT: '0', SEXTON_METRICS_PORT: 'off', SEXTON_DATA: folder, ...environment }
  const settings = readSettings(given, { isTty: false })
  return examine({ settings, clock: Date.now, role, onProgress }, undefined)
}

test('files that are missing in the package are named', () => {
  assert.match(
    judgePackage(folder).detail,
    /lacks dist\/console and docs\/errors; install it again/,
  )
})

test('a database that may lose acknowledged debits fails, with the setting and the reason', async () => {
  const url = await server.createDatabase()
  const sound = await examineWith({ SEXTON_DATABASE_URL: url })
  assert.ok(sound.findings.some(({ detail }) => /^PostgreSQL \d+.* connections$/.test(detail)))
  // The tests' own server need not survive a power loss.
  const failing = (found: typeof sound) =>
    found.findings.flatMap(({ level, detail }) => (level === 'fail' ? [detail] : []))
  const words = 'synchronous_commit is off: an acknowledged debit must survive'
  assert.ok(failing(sound).includes(words))
  assert.ok(failing(sound).some((each) => each.startsWith('fsync is off')))
  const engine = openPostgres({ url, schema: 'accounts' })
  const name = new URL(url).pathname.slice(1)
  const parts = [`alter database "${name}" set synchronous_commit = on`]
  await engine.write((tx) => tx.run({ kind: 'sql', parts, values: [] }))
  await engine.close()
  assert.ok(!failing(await examineWith({ SEXTON_DATABASE_URL: url })).includes(words))
})

test('a database that does not answer and a port that is taken fail, and the rest is looked at', async (context) => {
  const holder = createServer((_, answer) => answer.end('something else'))
  await once(holder.listen(0, '127.0.0.1'), 'listening')
  context.after(() => holder.close())
  const { port } = holder.address() as AddressInfo
  const { findings } = await examineWith({
    SEXTON_DATABASE_URL: 'postgres://me:secret@127.0.0.1:1/none',
    PORT: String(port),
  })
  const failing = findings.filter(({ level }) => level === 'fail')
  assert.deepEqual(
    failing.map(({ subject }) => subject),
    [`port ${port}`, 'register database', 'accounts database'],
  )
  assert.doesNotMatch(JSON.stringify(findings), /secret/)
  assert.ok(findings.some(({ subject, level }) => subject === 'disk' && level !== 'fail'))
})

test('an endpoint is reported with the range it accepts and the words of its refusal, on one line', async (context) => {
  const head = 50_000
  const node = createServer((request, answer) => {
    let body = ''
    request.on('data', (text) => {
      body += text
    })
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body)
      answer.end(JSON.stringify({ jsonrpc: '2.0', id, ...answerOf(method, params) }))
    })
  })
  const block = (number: number) => ({
    number: `0x${number.toString(16)}`,
    timestamp: `0x${Math.floor(Date.now() / 1000 - (head - number) * 12).toString(16)}`,
  })
  function answerOf(method: string, params: readonly unknown[]) {
    if (method === 'eth_chainId') return { result: '0x2105' }
    if (method === 'eth_blockNumber') return { result: block(head).number }
    if (method === 'eth_getBlockByNumber')
      return { result: block(params[0] === 'finalized' ? head - 64 : head) }
    if (method === 'eth_getLogs') {
      const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
      if (Number(toBlock) - Number(fromBlock) < 1_000) return { result: [] }
      return { error: { code: -32_000, message: 'at most 1000 blocks,\n\u001b my friend' } }
    }
    if (method === 'web3_clientVersion') return { result: 'Geth\u001b[2J\nFAIL  disk: full' }
    return { error: { code: -32_601, message: 'no such method' } }
  }
  await once(node.listen(0, '127.0.0.1'), 'listening')
  context.after(() => node.close())
  const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`
  const chains = localEcosystem.chains.map((chain) => ({ ...chain, rpcUrls: [url] }))
  const ecosystem = parseEcosystem('mine', { ...localEcosystem, chains })
  const given = { PORT: '0', SEXTON_METRICS_PORT: 'off', SEXTON_DATA: folder }
  const settings = readSettings(given, { isTty: false })
  const { findings, endpoints } = await examine(
    { settings, clock: Date.now, onProgress },
    ecosystem,
  )
  const [base] = endpoints
  assert.deepEqual(base?.logRange, {
    blocks: 1_000,
    refusal: 'at most 1000 blocks, my friend (code -32000)',
  })
  assert.equal(base.clientVersion, 'Geth [2J FAIL disk: full')
  assert.equal(base.finalityLag, 64)
  assert.equal(base.archiveBlocks, 0)
  const failing = findings.flatMap(({ level, detail }) => (level === 'fail' ? [detail] : []))
  assert.ok(failing.some((each) => each.startsWith('serves chain 8453, the file says 1')))
  assert.ok(failing.some((each) => each.startsWith('cannot prove a block by its receipts')))
})

test('a database role that lacks rights fails, with what to run; one with its grants passes', async () => {
  const url = await server.createDatabase()
  const settings = readSettings({ SEXTON_DATABASE_URL: url }, { isTty: false })
  await (await openStores(settings)).close()
  const rightsOf = async (databaseUrl: string, role?: Role) => {
    const { findings } = await examineWith({ SEXTON_DATABASE_URL: databaseUrl }, role)
    return findings.flatMap(({ level, detail }) => (/rights/.test(detail) ? [[level, detail]] : []))
  }
  const bare = await rightsOf((await makeDatabaseRole(url)).url, 'serve')
  assert.deepEqual(
    bare.map(([level]) => level),
    ['fail', 'fail'],
  )
  assert.match(String(bare[1]), /usage on schema accounts; .*run "sexton grants --role serve"/)
  const granted = await makeDatabaseRole(url, ['serve'])
  assert.deepEqual(await rightsOf(granted.url, 'serve'), [
    ['ok', 'rights for serve'],
    ['ok', 'rights for serve'],
  ])
  // Without a role, those that it suits are named.
  assert.deepEqual(await rightsOf(granted.url), [
    ['ok', 'rights for serve, verify, audit'],
    ['ok', 'rights for serve, audit'],
  ])
})
