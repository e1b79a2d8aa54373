import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { startPostgres, type TestPostgres } from './postgres.ts'

let server: TestPostgres
before(async () => {
  server = await startPostgres({ durable: true })
})
after(() => server.stop())

async function rows(url: string, statement: string) {
  const client = new Client({ connectionString: url })
  try {
    await client.connect()
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

async function accepts(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy())
}

test('a real PostgreSQL 18 answers on 127.0.0.1 only', async () => {
  assert.equal(new URL(server.url).hostname, '127.0.0.1')
  const [row] = await rows(
    server.url,
    `select current_setting('server_version') as version,
      current_setting('listen_addresses') as addresses,
      current_setting('unix_socket_directories') as sockets`,
  )
  assert.match(row?.version, /^18\./)
  assert.equal(row?.addresses, '127.0.0.1')
  assert.equal(row?.sockets, '')
})

test('each created database is empty, UTF-8 and apart from the others', async () => {
  const [first, second] = await Promise.all([server.createDatabase(), server.createDatabase()])
  await rows(first, 'create table grave (id bigint primary key)')
  const tables = `select tablename from pg_tables where schemaname = 'public'`
  assert.equal((await rows(first, tables)).length, 1)
  assert.equal((await rows(second, tables)).length, 0)
  const [row] = await rows(second, 'show server_encoding')
  assert.equal(row?.server_encoding, 'UTF8')
})

test('a wrong password is refused', async () => {
  const url = new URL(server.url)
  url.password = 'wrong'
  await assert.rejects(rows(url.href, 'select 1'), { code: '28P01' })
})

const startAndPrintUrl = `
  import { startPostgres } from '${new URL('./postgres.ts', import.meta.url).href}'
  const server = await startPostgres({ own: true })
  console.log(server.url)
`

test('a forgotten server neither holds its process nor outlives it', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', startAndPrintUrl],
    { timeout: 30_000 },
  )
  await endsSoon(stdout.trim())
})

test('a server does not outlive a process that is killed', async () => {
  const holding = `${startAndPrintUrl}; setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', holding])
  const [output] = await once(child.stdout, 'data')
  const url = String(output).trim()
  assert.equal(await accepts(url), true)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await endsSoon(url)
})

test('durable keeps fsync and synchronous commit on; stop ends it, a second stop does nothing', async () => {
  const [row] = await rows(
    server.url,
    `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`,
  )
  assert.deepEqual({ ...row }, { fsync: 'on', commit: 'on' })
  await server.stop()
  await server.stop()
  assert.equal(await accepts(server.url), false)
})

/** Another process ends the server, so there is no event to await: ask for at most ten seconds. */
async function endsSoon(url: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (!(await accepts(url))) return
    await delay(100)
  }
  assert.fail('the server still accepts connections')
}
