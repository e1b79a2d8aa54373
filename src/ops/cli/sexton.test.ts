import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { localFile } from '#main/local-chains.ts'
import { nodeEnvironment } from '#test/node-environment.ts'
import { runProgram } from './sexton.ts'

const program = join(import.meta.dirname, 'sexton.mjs')
const ecosystem = join(import.meta.dirname, '../../../devnet/local-ecosystem.ts')
const OWN_KEY = `0x${'5e'.repeat(32)}`

describe('the command line', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sexton-cli-'))
  })
  const children = new Set<ChildProcess>()
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await rm(folder, { recursive: true })
  })

  function run(parameters: readonly string[], environment: Record<string, string> = {}) {
    const child = spawn(process.execPath, [program, ...parameters], {
      env: {
        ...nodeEnvironment,
        SEXTON_DATA: folder,
        SEXTON_ECOSYSTEM: ecosystem,
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.add(child)
    child.once('close', () => children.delete(child))
    const output = { text: '', errors: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.text += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output.errors += text
    })
    return { child, output }
  }
  /** Runs it in this process, which spares a start; what signals or ends a process is run as a child. */
  async function runHere(parameters: readonly string[], environment: Record<string, string> = {}) {
    const output = { code: undefined as unknown, text: '', errors: '' }
    const from = Object.create(process, {
      argv: { value: [process.execPath, program, ...parameters] },
      env: { value: { SEXTON_DATA: folder, SEXTON_ECOSYSTEM: ecosystem, ...environment } },
      stdout: { value: { write: (text: string) => (output.text += text) } },
      stderr: { value: { write: (text: string) => (output.errors += text) } },
      exitCode: { set: (code) => (output.code = code) },
    })
    await runProgram(from)
    return output
  }
  async function ended(child: ChildProcess): Promise<number | null> {
    const [code] = await once(child, 'close')
    return code
  }

  it('the help of every command shows an example and names the variables', async () => {
    const main = run(['--help'])
    assert.equal(await ended(main.child), 0)
    const onStores = ['start', 'check', 'audit']
    const ofUpkeep = ['keys list', 'backup', 'import']
    const all = [...onStores, ...ofUpkeep, 'init']
    for (const word of [...all, 'SEXTON_DATABASE_URL'])
      assert.ok(main.output.text.includes(word.replace(' list', '')), word)
    for (const command of all) {
      const output = await runHere([...command.split(' '), '--help'])
      assert.equal(output.code, 0)
      assert.ok(output.text.includes('Examples:'), command)
      if (command === 'init') continue
      for (const part of ['--ecosystem <file>', '--data <folder>'])
        assert.ok(output.text.includes(part), `${command}: ${part}`)
    }
  })

  it('an audit that cannot reach the database exits with 2 and shows no password', async () => {
    const { child, output } = run(['audit'], {
      SEXTON_DATABASE_URL: 'postgres://me:correct horse@127.0.0.1:1/sexton',
    })
    assert.equal(await ended(child), 2)
    assert.match(
      output.errors,
      /the audit could not read the database \(PostgreSQL: .*ECONNREFUSED/,
    )
    assert.doesNotMatch(output.errors + output.text, /horse/)
  })

  it('a listing is shown only where a facilitator settles, and by itself', async () => {
    const nowhere = { base: 'http://127.0.0.1:9', ethereum: 'http://127.0.0.1:9' }
    const unsettled = localFile(4020, nowhere)
    const settle = { facilitator: 'https://facilitator.example' }
    const settled = { ...unsettled, payment: { ...unsettled.payment, settle } }
    const list = async (content: object, ...more: string[]) => {
      const file = join(folder, 'listed.json')
      await writeFile(file, JSON.stringify(content))
      return runHere(['check', '--listing', '--ecosystem', file, ...more])
    }
    const none = await list(unsettled)
    assert.equal(none.code, 1, none.errors)
    assert.match(none.text + none.errors, /not listed: payments are not settled by a facilitator/)
    const listed = await list(settled)
    assert.equal(listed.code, 0, listed.errors)
    assert.ok(JSON.parse(listed.text).accepts.length > 0)
    for (const option of ['--json', '--offline'])
      assert.equal((await list(settled, option)).code, 2)
  })

  it('check prints its findings on stdout, also into a file', async () => {
    const { child, output } = run(['check', '--offline'])
    assert.equal(await ended(child), 0, output.errors)
    assert.match(output.text, /local-ecosystem\.ts is well-formed\.\n$/)
  })

  it('an unknown command is 2 and names the one that was meant', async () => {
    const output = await runHere(['strat'])
    assert.equal(output.code, 2)
    assert.match(output.errors, /Did you mean start\?/)
  })

  for (const [name, environment] of [
    ['PORT', { PORT: 'abc' }],
    ['SEXTON_TRUSTED_PROXIES', { SEXTON_TRUSTED_PROXIES: 'everyone' }],
    ['missing.json', { SEXTON_ECOSYSTEM: 'missing.json' }],
  ] as const)
    it(`a wrong configuration (${name}) is one line and exit code 2`, async () => {
      const output = await runHere(['start'], environment)
      assert.equal(output.code, 2)
      assert.match(output.errors, new RegExp(`^sexton: ${name}.*\n$`))
    })

  for (const command of ['start', 'audit'])
    it(`${command} reads the file of --ecosystem, whatever the environment names`, async () => {
      const output = await runHere([command, '--ecosystem', 'absent.json', '--data', folder])
      assert.equal(output.code, 2)
      assert.match(output.errors, /absent\.json/)
    })

  it('start --settle uses its public key on the local chains only, and replaces no key', async () => {
    const data = await mkdtemp(join(folder, 'settled-'))
    const refused = async (environment: Record<string, string>) => {
      const output = await runHere(['start', '--settle', '--data', data], environment)
      assert.equal(output.code, 2, output.errors)
      return output.errors
    }
    assert.match(await refused({}), /^sexton: --settle: .*local chains only.*\n$/)
    const local = { SEXTON_ECOSYSTEM: '' }
    const named = { ...local, SEXTON_SETTLING_KEY_FILE: join(data, 'own.key') }
    assert.match(await refused(named), /^sexton: --settle: .*SEXTON_SETTLING_KEY_FILE.*\n$/)
    assert.deepEqual(await readdir(data), [])
    const file = join(data, 'relayer.key')
    await writeFile(file, OWN_KEY)
    assert.match(await refused(local), /^sexton: --settle: .*relayer\.key holds another key.*\n$/)
    assert.equal(await readFile(file, 'utf8'), OWN_KEY)
  })

  it('every mistake in an ecosystem file gets its own line, and the exit code is 2', async () => {
    const file = join(folder, 'ecosystem.json')
    await writeFile(file, '{"chains":[],"tokens":[],"colour":"red"}')
    const output = await runHere(['start'], { SEXTON_ECOSYSTEM: file })
    assert.equal(output.code, 2)
    const fields = output.errors
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(`sexton: ${file}: `, '').split(':')[0])
    assert.deepEqual(fields, ['service', 'colour', 'chains', 'tokens'])
  })

  it('a port that is taken is one line that says what to do', async () => {
    const holder = createServer()
    await once(holder.listen(0, '127.0.0.1'), 'listening')
    const address = holder.address()
    assert.ok(typeof address === 'object' && address !== null)
    const port = String(address.port)
    const { child, output } = run(['start', '--port', port], { SEXTON_METRICS_PORT: 'off' })
    const code = await ended(child)
    holder.close()
    assert.equal(code, 2)
    assert.match(output.errors, /^sexton: .*EADDRINUSE.*set another PORT\n$/)
  })

  it('start --api-only answers from an empty index with 503, its documents with 200, and ends on SIGTERM with 0', async () => {
    const { child, output } = run(['start', '--api-only', '--port', '0'], {
      SEXTON_METRICS_PORT: '0',
    })
    let url: string | undefined
    while (url === undefined) {
      await Promise.race([once(child.stdout, 'data'), once(child, 'close')])
      url = /"url":"([^"]+)"/.exec(output.text)?.[1]
      assert.ok(url !== undefined || child.exitCode === null, output.errors)
    }
    const stats = await fetch(`${url}/api/stats`)
    assert.equal(stats.status, 503)
    assert.equal(stats.headers.get('x-ratelimit-remaining'), '500')
    assert.equal((await fetch(`${url}/openapi.json`)).status, 200)
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
    child.kill('SIGTERM')
    assert.equal(await ended(child), 0)
  })
})
