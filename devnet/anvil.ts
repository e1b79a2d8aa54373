import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { openRpc } from '#devnet/rpc.ts'

/** What an anvil is started with. */
export interface AnvilOptions {
  readonly port: number
  readonly chainId: number
  /** The time of the genesis block, Unix seconds; without meaning when a state is loaded. */
  readonly genesisUnix: number
  /** A folder of its own; its path also marks the process as ours. */
  readonly cacheFolder: string
  /** A state to go on from, as plain JSON. */
  readonly stateFile?: string
}

/** A running anvil. */
export interface Anvil {
  readonly url: string
  readonly pid: number
  /** Gives what it said when it ends before `stop` was called; never rejects. */
  readonly failed: Promise<string>
  stop(): Promise<void>
}

/**
 * Starts anvil on 127.0.0.1 and waits until it answers.
 * Throws when anvil ends at once, for example over an unreadable state or a taken port.
 */
export async function startAnvil(options: AnvilOptions): Promise<Anvil> {
  const [command, ...prefix] = anvilCommand()
  // In a process group of its own, Ctrl-C in a terminal reaches us and not the chain, so that its
  // state can still be saved.
  const child = spawn(command, [...prefix, ...anvilArguments(options)], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`anvil did not start: ${command}`)
  const killAtExit = (): void => void child.kill('SIGKILL')
  process.once('exit', killAtExit)
  const ended = endOf(child).finally(() => process.off('exit', killAtExit))
  const url = `http://127.0.0.1:${options.port}`
  await untilAnswering(url, ended)
  let stopping = false
  return {
    url,
    pid,
    failed: new Promise((resolve) => ended.then((words) => stopping || resolve(words))),
    async stop() {
      stopping = true
      await endChild(child, ended)
    },
  }
}

/** Throws when the port is taken: a stranger on it would pass for the chain. */
export function refuseTakenPort(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (cause) => {
      reject(new Error(`port ${port} of 127.0.0.1 is taken; choose another`, { cause }))
    })
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve()))
  })
}

// Its state is saved by now. Anvil waits for open connections, however long they stay idle.
const endWithinMs = 300

// Loading the state of a chain of some days takes seconds.
const readyWithinMs = 60_000

// How many of the newest states can be reorganised or read. An indexer's proofs are read at the final
// block, up to 128 deep, while new blocks come in. More only makes the saved state larger.
const keptStates = 160

function anvilArguments(options: AnvilOptions): readonly string[] {
  const values = {
    host: '127.0.0.1',
    port: options.port,
    'chain-id': options.chainId,
    timestamp: options.genesisUnix,
    // Prague and later recompute a large system contract per block and are ten times slower.
    hardfork: 'cancun',
    order: 'fifo',
    'base-fee': 0,
    'gas-price': 0,
    'gas-limit': 1_000_000_000,
    'prune-history': keptStates,
    'cache-path': options.cacheFolder,
    ...(options.stateFile !== undefined && { 'load-state': options.stateFile }),
  }
  return [
    ...Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)]),
    '--quiet',
    '--no-mining',
    '--auto-impersonate',
    '--disable-min-priority-fee',
    '--disable-default-create2-deployer',
    '--no-request-size-limit',
  ]
}

function anvilCommand(): [string, ...string[]] {
  const require = createRequire(import.meta.url)
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const suffix = process.platform === 'win32' ? '.exe' : ''
  const platform = process.platform === 'win32' ? 'win32' : process.platform
  // Installed with this package, or by the operator in the folder of the start.
  const places = { paths: [import.meta.dirname, process.cwd()] }
  const find = (name: string) => {
    try {
      return require.resolve(name, places)
    } catch {
      return undefined
    }
  }
  const binary = find(`@foundry-rs/anvil-${platform}-${architecture}/bin/anvil${suffix}`)
  if (binary !== undefined) return [binary]
  const script = find('@foundry-rs/anvil/bin.mjs')
  if (script !== undefined) return [process.execPath, script]
  throw new Error(
    'the local chains need anvil: run "npm install @foundry-rs/anvil@1.7.1" here, or name an ecosystem file of your own in SEXTON_ECOSYSTEM',
  )
}

function endOf(child: ChildProcess): Promise<string> {
  let words = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString('utf8')).slice(-2000)
  })
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(words.trim() || `ended with ${signal ?? code}`))
  })
}

async function untilAnswering(url: string, ended: Promise<string>): Promise<void> {
  const rpc = openRpc(url)
  const state: { words?: string } = {}
  ended.then((words) => {
    state.words = words
  })
  try {
    for (let waitedMs = 0; waitedMs < readyWithinMs; waitedMs += 20) {
      if (state.words !== undefined) throw new Error(`anvil ended at once: ${state.words}`)
      const answered = await rpc.send({ method: 'eth_chainId' }).then(
        () => true,
        () => false,
      )
      if (answered) return
      await sleep(20)
    }
    throw new Error(`anvil did not answer at ${url}`)
  } finally {
    rpc.close()
  }
}

async function endChild(child: ChildProcess, ended: Promise<string>): Promise<void> {
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), endWithinMs)
  await ended
  clearTimeout(force)
}
