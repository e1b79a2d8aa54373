import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

const folder = await mkdtemp(join(tmpdir(), 'sexton-check-'))
after(() => rm(folder, { recursive: true }))
const pidFile = join(folder, 'pid')

/** Hangs, with a grandchild in a process group of its own, as the chains are. */
const hanging = `
import { spawn } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
const child = spawn('sh', ['-c', process.env.GRANDCHILD], { detached: true, stdio: 'ignore' })
writeFileSync('pid.draft', String(child.pid))
renameSync('pid.draft', 'pid')
test('hangs', () => new Promise((resolve) => setTimeout(resolve, 600_000)))
`

/** A run of the files as `npm test` does it; `stalledAfterMs` and their names are its arguments. */
const program = `
import { runTests } from ${JSON.stringify(join(import.meta.dirname, 'run-tests.ts'))}
import { openTestStage } from ${JSON.stringify(join(import.meta.dirname, 'test-stage.ts'))}
const stage = await openTestStage({ postgres: false, build: false })
const ok = await runTests({
  root: process.cwd(),
  files: process.argv.slice(3),
  stalledAfterMs: Number(process.argv[2]),
  write: (text) => void process.stdout.write(text),
})
await stage.close()
process.exitCode = ok ? 0 : 1
`

async function startRun({ stalledAfterMs = 600_000, grandchild = 'exec sleep 600' } = {}) {
  await rm(pidFile, { force: true })
  await writeFile(join(folder, 'hanging.test.mjs'), hanging)
  const run = await runFiles(['hanging.test.mjs'], { stalledAfterMs, grandchild })
  while (!existsSync(pidFile)) await sleep(50)
  const pid = Number(await readFile(pidFile, 'utf8'))
  return { ...run, pid }
}

async function runFiles(
  files: readonly string[],
  { stalledAfterMs = 600_000, grandchild = '' } = {},
) {
  await writeFile(join(folder, 'run.mjs'), program)
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env
  const child = spawn(process.execPath, ['run.mjs', String(stalledAfterMs), ...files], {
    cwd: folder,
    env: { ...environment, GRANDCHILD: grandchild },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  return { child, ended: once(child, 'close'), output: () => output }
}

/** A process that has ended but that nobody has waited for is a zombie. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const [, state] = /^\d+ \(.*\) (\w)/s.exec(stat) ?? []
  return state !== undefined && state !== 'Z' && state !== 'X'
}

test('a run in which nothing moves is ended, names the file, fails and kills what ignores SIGTERM', async () => {
  const { child, ended, pid, output } = await startRun({
    stalledAfterMs: 2_000,
    grandchild: "trap '' TERM; exec sleep 600",
  })
  assert.equal(await isAlive(pid), true)
  await ended
  assert.match(output(), /Nothing has moved for 2 s in hanging\.test\.mjs/)
  assert.equal(child.exitCode, 1)
  assert.equal(await isAlive(pid), false)
})

test('a run that is killed leaves no process behind', async () => {
  const { child, ended, pid } = await startRun()
  assert.equal(await isAlive(pid), true)
  child.kill('SIGKILL')
  // The output closes once nobody that inherited it is left.
  await ended
  assert.equal(await isAlive(pid), false)
})

test('a file that fails or cannot be loaded fails the run, is named, and those behind it run', async () => {
  const passing = "import { after, test } from 'node:test'\nafter(() => console.log('closed'))\n"
  const files = {
    'failing.test.mjs': `${passing}test('counts', () => { throw new Error('lost count') })`,
    'unreadable.test.mjs': "import './nowhere.mjs'",
    'passing.test.mjs': `${passing}test('goes on', () => console.log('went on'))`,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const { child, ended, output } = await runFiles(Object.keys(files))
  await ended
  assert.equal(child.exitCode, 1)
  assert.match(output(), /✖ counts.*lost count/s)
  assert.match(output(), /✖ unreadable\.test\.mjs.*nowhere\.mjs/s)
  assert.match(output(), /closed.*went on.*closed/s)
  assert.match(output(), /✔ goes on/)
})
