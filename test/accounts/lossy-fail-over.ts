import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { mintUsdc } from '#devnet/actions.ts'
import { readNumber } from '#test/program-options.ts'
import { withClient } from '#test/with-client.ts'
import { Answered } from './cluster/answered.ts'
import { compareLosses } from './cluster/compare-losses.ts'
import { type PrimaryAndStandby, startPrimaryAndStandby } from './cluster/primary-and-standby.ts'
import { type AccountsWorld, startAccountsWorld } from './world/accounts-world.ts'
import { ask, makeOwner, mintSoon, type OwnedKey, type Owner } from './world/owner.ts'
import type { RoleProcess } from './world/role-process.ts'

interface Options {
  readonly owners: number
  readonly behind: number
}

const values = new Command('node test/accounts/lossy-fail-over.ts')
  .description(
    'Owners who call, mint, rotate, revoke and pay at two replicas; their primary is killed while its asynchronous standby is some seconds behind, and the standby promoted. Ends with 1 unless "sexton audit --after-failover" names exactly what was answered and lost.',
  )
  .option('--owners <count>', 'wallets that call', readNumber, 4)
  .option('--behind <seconds>', 'of the standby, when the primary is killed', readNumber, 3)
  .parse()
  .opts<Options>()

/** Each process is killed with this one. */
process.setMaxListeners(0)
const BEFORE_MS = 3_000
const AFTER_MS = 5_000
/** Until the index has read the last blocks. */
const INDEXED_MS = 1_000
const PAYMENT_MICRO_USD = 1_000_000n
/** Free calls of a wallet; the rest is paid. */
const QUOTA = 500

const servers = await startPrimaryAndStandby()
const world = await startAccountsWorld({
  databaseUrl: servers.databaseUrl,
  quotas: { anonymous: QUOTA, free: QUOTA, premium: QUOTA },
})
try {
  process.exitCode = await run()
} finally {
  await world.stop()
  await servers.stop()
}

async function run(): Promise<number> {
  const { urls, folders } = await startReplicas(world)
  const owners = await settleOwners(world, urls[0] ?? '')
  const answered = new Answered()
  const stop = new AbortController()
  const deps = { world, urls, answered, signal: stop.signal }
  const living = owners.flatMap((each) => [callOn(deps, each), liveOn(deps, each)])
  await sleep(BEFORE_MS)
  await failOver(servers)
  await sleep(AFTER_MS)
  stop.abort()
  await Promise.all(living)
  await world.mine(4)
  await sleep(INDEXED_MS)
  const audit = await world.start('audit', { flags: ['--after-failover', ...folders] })
  const { code } = await audit.exit
  process.stdout.write(audit.words())
  const accounts = await world.openAccounts()
  try {
    const wrong = await compareLosses(accounts, { answered, words: audit.words(), code })
    process.stdout.write(`${answered.describe()}\n`)
    for (const line of wrong) process.stdout.write(`WRONG  ${line}\n`)
    if (wrong.length === 0) process.stdout.write('All that was lost is named, and nothing else.\n')
    return wrong.length === 0 ? 0 : 1
  } finally {
    await accounts.close()
  }
}

async function startReplicas({ folder, start }: AccountsWorld) {
  await start('index')
  await start('verify')
  const [urls, folders]: [string[], string[]] = [[], []]
  for (const name of ['one', 'two']) {
    const dataFolder = join(folder, name)
    mkdirSync(dataFolder)
    const replica: RoleProcess = await start('serve', { dataFolder })
    await replica.ready()
    urls.push(replica.url)
    folders.push(dataFolder)
  }
  return { urls, folders }
}

interface Settled {
  readonly owner: Owner
  readonly key: OwnedKey
}

/** Each with a key that stays, and money on it. */
async function settleOwners(
  { devnet, mine }: AccountsWorld,
  url: string,
): Promise<readonly Settled[]> {
  const base = devnet.chains.base.client
  const settled: Settled[] = []
  for (let index = 0; index < values.owners; index += 1) {
    const owner = await makeOwner(base)
    await mintUsdc(base, { to: owner.account.address, amount: 100n * PAYMENT_MICRO_USD })
    await mine(4)
    const key = await mintSoon(owner, url)
    const txHash = await owner.pay(base, PAYMENT_MICRO_USD)
    const id = await owner.claim(url, { key, txHash, microUsd: PAYMENT_MICRO_USD })
    await mine(3)
    while (!(await ask(`${url}/api/sessions/prepay/${id}?wait=10`, 200)).verified) await sleep(50)
    settled.push({ owner, key })
  }
  return settled
}

interface LifeDeps {
  readonly world: AccountsWorld
  readonly urls: readonly string[]
  readonly answered: Answered
  readonly signal: AbortSignal
}

/** Calls at both replicas in turn. */
async function callOn({ urls, answered, signal }: LifeDeps, { owner, key }: Settled) {
  const headers = { authorization: `Bearer ${key.secret}` }
  for (let turn = 0; !signal.aborted; turn += 1) {
    const url = `${urls[turn % urls.length]}/api/burns?limit=1`
    const status = await fetch(url, { headers }).then(
      async (answer) => {
        await answer.arrayBuffer()
        return answer.status
      },
      () => 0,
    )
    answered.called(owner.account.address, status)
  }
}

/** Mints, rotates, revokes and claims, one after the other. */
async function liveOn({ world, urls, answered, signal }: LifeDeps, { owner, key }: Settled) {
  const base = world.devnet.chains.base.client
  const spare: OwnedKey[] = []
  for (let turn = 0; !signal.aborted; turn += 1) {
    const url = urls[turn % urls.length] ?? ''
    try {
      const held = spare.at(-1)
      if (turn % 4 === 1 && held !== undefined) {
        spare[spare.length - 1] = await owner.rotate(url, held)
        answered.ended(held, spare.at(-1))
      } else if (turn % 4 === 2 && held !== undefined) {
        await owner.revoke(url, held)
        answered.ended(held)
        spare.pop()
      } else if (turn % 4 === 3) {
        const txHash = await owner.pay(base, 1_000n)
        await owner.claim(url, { key, txHash, microUsd: 1_000n })
        answered.claimed(key, txHash)
      } else {
        const made = await owner.mint(url)
        answered.made(made)
        spare.push(made)
      }
    } catch {
      // It was not answered, or the key is among what was lost.
      spare.length = 0
      await sleep(200)
    }
    await sleep(300)
  }
}

async function failOver({ standbyUrl, killPrimary, promote }: PrimaryAndStandby): Promise<void> {
  await withClient(standbyUrl, async (client) => {
    await client.query(`alter system set primary_conninfo = ''`)
    await client.query('select pg_reload_conf()')
  })
  await sleep(values.behind * 1_000)
  await killPrimary()
  await promote()
  process.stdout.write(`the primary was killed, ${values.behind} s after its standby lost it\n`)
}
