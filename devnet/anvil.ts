import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '#config.ts'
import { openRpc } from '#devnet/rpc.ts'

export interface AnvilOptions {
  readonly port: number
  readonly chainId: number
  /** Unix seconds; ignored if a state is loaded. */
  readonly genesisUnix: number
  /** Its path also marks the process as ours. */
  readonly cacheFolder: string
  /** Plain JSON. */
  readonly stateFile?: string
}

export interface Anvil {
  readonly url: string
  readonly pid: number
  /** Resolves with the output if anvil ends before `stop`. */
  readonly failed: Promise<string>
  stop(): Promise<void>
}

/** On 127.0.0.1. Waits for an answer; throws if anvil ends at once, such as over a taken port. */
export async function startAnvil(options: AnvilOptions): Promise<Anvil> {
  const [command, ...prefix] = anvilCommand()
  // In its own process group: Ctrl-C must not kill the chain before its state is saved.
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

/** Another server on the port would pass for the chain. */
export function refuseTakenPort(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (cause) => {
      reject(new Error(`port ${port} of 127.0.0.1 is taken; choose another`, { cause }))
    })
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve()))
  })
}

// Anvil waits for idle connections; its state is saved by now.
const endWithinMs = 300

// Loading some days of history takes seconds.
const readyWithinMs = 60_000

// Newest states that can be reorganised or read: proofs read up to 128 blocks deep. More only
// enlarges the saved state.
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

/** Throws what to do in a folder with neither an ecosystem file nor anvil. */
export function anvilCommand(): [string, ...string[]] {
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
  throw new ConfigError(
    `there is no sexton.config.ts here. Write one for your token, then run "npx sexton start" again:
npx sexton init <token address> --rpc <URL of a node of its chain>
To try local chains first: npm install @foundry-rs/anvil@1.7.1 && npx sexton start`,
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
