import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeEnvironment } from './node-environment.ts'
import { copySharedHistory } from './start-own-devnet.ts'

const PROGRAM = join(import.meta.dirname, '../src/operations/cli/sexton.mjs')
const WARN = 40

/** Ten times what it may take on a quiet machine. */
const STOP_MS_MAX = 30_000

test('the first start prints no warning and JSON alone on stdout, and Ctrl+C ends it', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-'))
  context.after(() => rm(folder, { recursive: true, force: true }))
  await copySharedHistory(join(folder, 'chains'))
  const child = spawn(process.execPath, [PROGRAM, 'start', '--data', folder, '--port', '0'], {
    env: { ...nodeEnvironment, LOG_FORMAT: 'json', SEXTON_METRICS_PORT: 'off' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  context.after(() => child.kill('SIGKILL'))
  let out = ''
  let shown = ''
  child.stdout.on('data', (chunk) => {
    out += String(chunk)
  })
  child.stderr.on('data', (chunk) => {
    shown += String(chunk)
  })
  while (!shown.includes('Stop with Ctrl+C')) await once(child.stderr, 'data')

  const askedAtMs = performance.now()
  child.kill('SIGINT')
  const [code] = await once(child, 'close')
  const tookMs = performance.now() - askedAtMs
  assert.equal(code, 0)
  assert.ok(tookMs < STOP_MS_MAX, `${tookMs} ms`)

  const lines = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly level: number; readonly msg: string })
  assert.deepEqual(
    lines.filter(({ level }) => level >= WARN),
    [],
  )
  assert.doesNotMatch(shown, /warning/i)
  const stopping = lines.map(({ msg }) => msg).filter((msg) => msg.startsWith('stopping: '))
  assert.deepEqual(stopping, [
    'stopping: waiting for answers in flight',
    'stopping: waiting for the index and the verifier',
    'stopping: saving the local chains',
  ])
})
