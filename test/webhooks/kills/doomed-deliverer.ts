import { openStore } from '#main/stores.ts'
import { Delivery } from '#serving/webhooks/delivery.ts'
import { localEcosystemAt } from '../../indexed-ecosystem.ts'
import { makeMortalEngine } from '../../simulation/mortal-engine.ts'
import { delivererDeps, hasWork } from '../webhook-world.ts'

/** What the parent wants, as JSON in the first argument. */
export interface Doom {
  readonly accountsFolder: string
  readonly registerFolder: string
  /** A PostgreSQL URL of the accounts instead. */
  readonly accountsUrl: string | undefined
  readonly nowMs: number
  /** SIGKILL at this statement, commit or send; never if 0. */
  readonly at: number
}

/** Any URL: only the register is read. */
const NODE = 'http://127.0.0.1:1'

const doom: Doom = JSON.parse(process.argv[2] ?? '')
const { accountsUrl } = doom
const [accounts, register] = await Promise.all([
  openStore(
    doom.accountsFolder,
    'accounts',
    accountsUrl === undefined ? { kind: 'sqlite' } : { kind: 'postgres', url: accountsUrl },
  ),
  openStore(doom.registerFolder, 'register', { kind: 'sqlite' }),
])
const ecosystem = localEcosystemAt({ base: NODE, ethereum: NODE })
const quotas = { ...ecosystem.quotas, free: 10, premium: 20 }
const dieNow = () => process.kill(process.pid, 'SIGKILL')
const mortal = makeMortalEngine(accounts, { busy: () => undefined, idle: () => undefined })
if (doom.at > 0) mortal.dieAt(doom.at, dieNow)
const deliverer = new Delivery(
  delivererDeps(
    { register, ecosystem: { ...ecosystem, quotas } },
    {
      accounts: mortal.engine,
      clock: () => doom.nowMs,
      // A step before each send, too.
      resolve: async () => {
        await mortal.engine.read({ kind: 'sql', parts: ['select 1'], values: [] })
        return ['127.0.0.1']
      },
      report(error) {
        process.stderr.write(`${String(error)}\n`)
        process.exitCode = 1
      },
    },
  ),
)
while (await hasWork(deliverer, accounts));
await deliverer.stop()
await Promise.all([accounts.close(), register.close()])
