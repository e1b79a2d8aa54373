import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { mintUsdc } from '#devnet/actions.ts'
import { openStore } from '#main/stores.ts'
import type { KillStage } from '#test/kill-stage.ts'
import { countTraced, readTrace, sqliteFiles, type Tracing, tracedBy } from '#test/strace.ts'
import { type AccountsWorld, startAccountsWorld } from '../world/accounts-world.ts'
import { makeOwner, mintSoon } from '../world/owner.ts'
import { checkStory } from './check-story.ts'
import { type KeyStory, liveStory } from './key-story.ts'

const MICRO_USD = 1_000_000n
const PAID_ALREADY = { anonymous: 100, free: 1, premium: 1 }

/** Makes chains, an owner with one key, and a payment that nobody claimed, all of it indexed. */
export async function prepareAccountsKills(strace: string): Promise<KillStage> {
  const world = await startAccountsWorld({ quotas: PAID_ALREADY })
  try {
    return await stageIn(world, strace)
  } catch (error) {
    await world.stop()
    throw error
  }
}

async function stageIn(world: AccountsWorld, strace: string): Promise<KillStage> {
  const base = world.devnet.chains.base.client
  const first = await world.start('start')
  await first.ready()
  const owner = await makeOwner(base)
  await mintUsdc(base, { to: owner.account.address, amount: MICRO_USD })
  const txHash = await owner.pay(base, MICRO_USD)
  await world.mine(4)
  const key = await mintSoon(owner, first.url)
  await first.stop()
  let places = 0
  const live = async (dataFolder: string, tracing: Tracing) => {
    const wrapper = tracedBy(strace, sqliteFiles(join(dataFolder, 'accounts.sqlite')), tracing)
    const service = await world.start('start', { dataFolder, wrapper })
    const isUp = await service.ready().then(
      () => true,
      () => false,
    )
    const { url } = service
    const input = { url, owner, first: key, txHash, microUsd: MICRO_USD }
    const story = isUp ? await liveStory(input) : untold(key)
    const isWhole = story.done.has('revoke')
    if (isWhole) await service.stop().catch(() => undefined)
    const { code, signal } = await service.exit
    if (signal !== 'SIGKILL' && code !== 0)
      throw new Error(`the service ended with ${code ?? signal}:\n${service.words()}`)
    return { story, killed: signal === 'SIGKILL' }
  }
  const inPlace = async <T>(work: (dataFolder: string) => Promise<T>): Promise<T> => {
    places += 1
    const place = join(world.folder, `place-${places}`)
    cpSync(world.dataFolder, place, { recursive: true })
    const result = await work(place)
    rmSync(place, { recursive: true })
    return result
  }
  const restart = async (dataFolder: string, story: KeyStory): Promise<readonly string[]> => {
    const service = await world.start('start', { dataFolder })
    await service.ready()
    const accounts = await openStore(dataFolder, 'accounts', { kind: 'sqlite' })
    const broken = await checkStory({ url: service.url, story, accounts, microUsd: MICRO_USD })
    await accounts.close()
    await service.stop()
    const { code, words } = await world.audit(dataFolder)
    return code === 0 ? broken : [...broken, `the audit ended with ${code}:\n${words}`]
  }
  return {
    stop: () => world.stop(),
    count: (calls) =>
      inPlace(async (dataFolder) => {
        const file = join(world.folder, 'calls')
        await live(dataFolder, { kind: 'list', calls, file })
        return countTraced(await readTrace(file), calls)
      }),
    kill: (call, at) =>
      inPlace(async (dataFolder) => {
        const { story, killed } = await live(dataFolder, { kind: 'kill', call, at })
        const step = [...story.begun].find((each) => !story.done.has(each))
        return { killed, step, broken: await restart(dataFolder, story) }
      }),
  }
}

function untold(first: KeyStory['first']): KeyStory {
  const none = { minted: undefined, rotated: undefined, prepaymentId: undefined }
  return { begun: new Set(), done: new Set(), first, ...none }
}
