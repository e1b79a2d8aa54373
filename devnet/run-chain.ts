import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addresses, type ChainName, chainIds } from '#devnet/addresses.ts'
import { type Anvil, refuseTakenPort, startAnvil } from '#devnet/anvil.ts'
import { type ChainClient, openChainClient, readHead } from '#devnet/chain-client.ts'
import { fillTime } from '#devnet/fill-time.ts'
import { foundChain } from '#devnet/found-chain.ts'
import { keepSaving, type Saving } from '#devnet/keep-saving.ts'
import { type Live, startLive } from '#devnet/live.ts'
import { endOrphan, forgetPid, notePid } from '#devnet/orphans.ts'
import { saveState, unpackState } from '#devnet/saved-state.ts'
import { newWorld, readWorld, type World } from '#devnet/world.ts'

export interface ChainOptions {
  readonly name: ChainName
  readonly port: number
  readonly dataFolder: string
  readonly historyDays: number
  readonly seed: number
  readonly live: boolean
  readonly saved: boolean
}

export interface ChainDeps {
  readonly nowUnix: () => number
  readonly log: (line: string) => void
  readonly onProgress: (progress: { chain: string; done: number; total: number }) => void
}

export interface RunningChain {
  readonly client: ChainClient
  /**
   * Stops mining, saves the chain and ends its node; recent states only if they fit in the given
   * time.
   */
  stop(statesWithinMs?: number): Promise<void>
}

/** Continues a saved chain, else builds its history. Ready at the present. */
export async function runChain(deps: ChainDeps, options: ChainOptions): Promise<RunningChain> {
  const startUnix = deps.nowUnix()
  const files = filesOf(options)
  mkdirSync(files.cacheFolder, { recursive: true })
  if (await endOrphan(files.pid, files.cacheFolder)) {
    deps.log(`${options.name}: stopped the node of an earlier, killed run`)
    await untilFree(options.port)
  }
  // Before loading, so that a taken port is not mistaken for a damaged save.
  await refuseTakenPort(options.port)
  const { anvil, client, world } = await openChain(deps, { ...options, files, startUnix })
  try {
    await client.rpc.send({ method: 'evm_setTime', params: [deps.nowUnix()] })
    const live = options.live ? await startLive(deps, world) : undefined
    const saving = options.saved
      ? keepSaving(deps, { chain: client, file: files.state })
      : undefined
    watch(deps, { name: options.name, anvil })
    return {
      client,
      stop: (statesWithinMs = 60_000) =>
        stopChain({ files, anvil, client, live, saving, statesWithinMs }),
    }
  } catch (error) {
    await anvil.stop()
    throw error
  }
}

/** The kernel frees the port once the last thread is gone. */
async function untilFree(port: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < portFreeWithinMs; waitedMs += 20) {
    const free = await refuseTakenPort(port).then(
      () => true,
      () => false,
    )
    if (free) return
    await sleep(20)
  }
}

// Ample for a kernel; after that another program has the port.
const portFreeWithinMs = 5000

interface Files {
  readonly state: string
  readonly unpacked: string
  readonly pid: string
  /** Unix seconds of the genesis block. */
  readonly genesis: string
  readonly cacheFolder: string
}

function filesOf(options: ChainOptions): Files {
  const at = (suffix: string): string => join(options.dataFolder, `${options.name}.${suffix}`)
  return {
    state: at('state.json.gz'),
    unpacked: at('state.unpacked.json'),
    pid: at('anvil.pid'),
    genesis: at('genesis'),
    cacheFolder: at('anvil-cache'),
  }
}

interface OpenChain {
  readonly anvil: Anvil
  readonly client: ChainClient
  readonly world: World
}

type OpenInput = ChainOptions & { readonly files: Files; readonly startUnix: number }

async function openChain(deps: ChainDeps, input: OpenInput): Promise<OpenChain> {
  try {
    if (await unpackState({ file: input.files.state, target: input.files.unpacked })) {
      return await continueChain(deps, input)
    }
  } catch (cause) {
    deps.log(
      `${input.name}: the saved chain cannot be read and is kept as .damaged; starting a new one (${String(cause)})`,
    )
    renameSync(input.files.state, `${input.files.state}.damaged`)
  } finally {
    rmSync(input.files.unpacked, { force: true })
  }
  return beginChain(deps, input)
}

async function continueChain(deps: ChainDeps, input: OpenInput): Promise<OpenChain> {
  // anvil creates its genesis block before it loads the saved ones; a different time would give two
  // first blocks.
  const genesisUnix = Number(readFileSync(input.files.genesis, 'utf8'))
  const node = { stateFile: input.files.unpacked, genesisUnix }
  return withNode(input, node, async (client) => {
    const world = await readWorld(client, input.seed)
    const head = await readHead(client)
    if (head.number === 0) throw new Error('it holds no block')
    await fillUntilStart(deps, input, { world, fromUnix: head.timestampUnix })
    return world
  })
}

function beginChain(deps: ChainDeps, input: OpenInput): Promise<OpenChain> {
  const genesisUnix = input.startUnix - input.historyDays * 86_400 - spareSeconds
  writeFileSync(input.files.genesis, `${genesisUnix}\n`)
  return withNode(input, { genesisUnix }, async (client) => {
    const world = newWorld(client, input.seed)
    const fromUnix = await foundChain(world, genesisUnix)
    await fillUntilStart(deps, input, { world, fromUnix })
    return world
  })
}

const spareSeconds = 600

async function withNode(
  input: OpenInput,
  node: { readonly genesisUnix: number; readonly stateFile?: string },
  prepare: (client: ChainClient) => Promise<World>,
): Promise<OpenChain> {
  const { name, port, files } = input
  const chainId = chainIds[name]
  const anvil = await startAnvil({ port, chainId, cacheFolder: files.cacheFolder, ...node })
  notePid(files.pid, anvil.pid)
  const client = openChainClient({
    name,
    chainId,
    rpcUrl: anvil.url,
    addresses: addresses[name],
  })
  try {
    return { anvil, client, world: await prepare(client) }
  } catch (error) {
    client.rpc.close()
    await anvil.stop()
    throw error
  }
}

// Until the start time, so that seed and time determine the history.
async function fillUntilStart(
  deps: ChainDeps,
  input: OpenInput,
  { world, fromUnix }: { readonly world: World; readonly fromUnix: number },
): Promise<void> {
  const chain = input.name
  await fillTime(world, {
    fromUnix,
    untilUnix: input.startUnix,
    onBlock: (done, total) => deps.onProgress({ chain, done, total }),
  })
}

function watch(deps: ChainDeps, input: { readonly name: ChainName; readonly anvil: Anvil }): void {
  input.anvil.failed.then((words) => deps.log(`${input.name}: anvil ended unexpectedly: ${words}`))
}

async function stopChain(chain: {
  readonly files: Files
  readonly anvil: Anvil
  readonly client: ChainClient
  readonly live: Live | undefined
  readonly saving: Saving | undefined
  readonly statesWithinMs: number
}): Promise<void> {
  try {
    await chain.live?.stop()
    if (chain.saving === undefined) return
    await chain.saving.stop()
    await saveWithin(chain.client, chain.files.state, chain.statesWithinMs)
  } finally {
    chain.client.rpc.close()
    await chain.anvil.stop()
    forgetPid(chain.files.pid)
  }
}

/** Recent states only if they are quick enough. */
async function saveWithin(
  client: ChainClient,
  file: string,
  statesWithinMs: number,
): Promise<void> {
  const late = sleep(statesWithinMs, undefined, { ref: false })
  await saveState(client, { file, withStates: false })
  const whole = saveState(client, { file, withStates: true })
  whole.catch(() => undefined)
  await Promise.race([whole, late])
}
