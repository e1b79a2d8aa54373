import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '#devnet/free-ports.ts'
import { endOrphan, notePid } from '#devnet/orphans.ts'
import { startDevnet } from '#devnet/start-devnet.ts'

// A process that has ended and waits to be collected (state Z) is not alive.
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.trim() !== '' && !stdout.startsWith('Z')
}

type Ports = Awaited<ReturnType<typeof freePorts>>

function startApart(dataFolder: string, ports: Ports) {
  const main = join(import.meta.dirname, 'main.ts')
  const { base, ethereum } = ports.ports
  const chosen = [
    '--base-port',
    `${base}`,
    '--ethereum-port',
    `${ethereum}`,
    '--arbitrum-port',
    '0',
  ]
  const flags = [...chosen, '--data', dataFolder, '--days', '1']
  return spawn(process.execPath, [main, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
}

// Reads on after that, so that the child never meets a closed pipe.
function untilReady(child: ReturnType<typeof startApart>): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`ended with ${code}`)))
    child.stdout.on('data', (chunk) => {
      if (String(chunk).includes('treasury:')) resolve()
    })
  })
}

async function nodePids(dataFolder: string): Promise<readonly number[]> {
  const files = ['base.anvil.pid', 'ethereum.anvil.pid']
  return Promise.all(
    files.map(async (file) => Number(await readFile(join(dataFolder, file), 'utf8'))),
  )
}

/** Both chains have been saved once, so that a next start can go on from there. */
async function untilSaved(dataFolder: string): Promise<void> {
  const saved = ['base', 'ethereum'].map((name) => join(dataFolder, `${name}.state.json.gz`))
  for (let tries = 0; !saved.every(existsSync); tries += 1) {
    assert.ok(tries < 300, 'the chains were not saved')
    await sleep(100)
  }
}

test('nodes that a killed run leaves behind are ended by the next start, which goes on', async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'sexton-orphans-'))
  const ports = await freePorts()
  const child = startApart(dataFolder, ports)
  await untilReady(child)
  const pids = await nodePids(dataFolder)
  await untilSaved(dataFolder)
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.deepEqual(pids.map(isAlive), [true, true])
  const lines: string[] = []
  const log = (line: string): void => void lines.push(line)
  const devnet = await startDevnet({ dataFolder, ...ports, live: false, log })
  t.after(async () => {
    await devnet.stop()
    await rm(dataFolder, { recursive: true })
  })
  assert.deepEqual(pids.map(isAlive), [false, false])
  assert.equal(lines.filter((line) => line.includes('killed run')).length, 2)
  assert.equal(lines.filter((line) => line.includes('starting a new one')).length, 0)
})

test('no node outlives a run that is asked to end', async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'sexton-orphans-'))
  const ports = await freePorts()
  const child = startApart(dataFolder, ports)
  await untilReady(child)
  const pids = await nodePids(dataFolder)
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
  assert.deepEqual(pids.map(isAlive), [false, false])
  await rm(dataFolder, { recursive: true })
})

test('a number that now belongs to another program is left alone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-orphans-'))
  const pidFile = join(folder, 'node.pid')
  notePid(pidFile, process.pid)
  assert.equal(await endOrphan(pidFile, 'a mark that is not on the command line'), false)
  await rm(folder, { recursive: true })
})
