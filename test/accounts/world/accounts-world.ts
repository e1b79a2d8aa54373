import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '#base/free-port.ts'
import type { Engine } from '#db/engine.ts'
import { mine } from '#devnet/actions.ts'
import type { Devnet } from '#devnet/start-devnet.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { localFile } from '#main/local-chains.ts'
import { openStore } from '#main/stores.ts'
import { type CommandEnded, runCommand } from '#test/run-command.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import { buildService } from '#tools/build.ts'
import { type RoleHere, startRoleHere } from './role-here.ts'
import { type RoleProcess, type RoleStart, startRole } from './role-process.ts'

/** Real chains and stores on which any roles of Sexton run as processes of their own. */
export interface AccountsWorld {
  readonly devnet: Devnet
  readonly file: EcosystemFile
  /** Of the embedded stores. */
  readonly dataFolder: string
  /** A folder for other files, removed in the end. */
  readonly folder: string
  start(role: RoleStart['role'], more?: RoleMore): Promise<RoleProcess>
  /** Runs one in this process, which nothing can kill. */
  startHere(role: RoleStart['role'], more?: CommandMore): Promise<RoleHere>
  /** Ends blocks on both chains. */
  mine(blocks: number): Promise<void>
  /** Runs a command that ends by itself, in this process. */
  run(flags: readonly string[], more?: CommandMore): Promise<CommandEnded>
  /** `sexton audit`: exit code and words. */
  audit(dataFolder?: string): Promise<{ readonly code: number; readonly words: string }>
  /** Opens the accounts as they stand; the caller closes them. */
  openAccounts(): Promise<Engine>
  stop(): Promise<void>
}

export interface RoleMore extends Partial<Pick<RoleStart, 'wrapper' | 'environment' | 'flags'>> {
  /** Instead of the world's own. */
  readonly dataFolder?: string
}

type CommandMore = Pick<RoleMore, 'environment' | 'dataFolder'>

export interface AccountsWorldOptions {
  /** Chains that the caller stops; new ones unless given. */
  readonly devnet?: Devnet | undefined
  /** PostgreSQL instead of the embedded stores. */
  readonly databaseUrl?: string | undefined
  readonly quotas: EcosystemFile['quotas']
  /** Clocks of services that are moved must not make the chains look stale. */
  readonly staleAfterSeconds?: number
}

const POLL_INTERVAL_MS = 100

/** All load comes from one address; the abuse guard must let it, and it is a proxy. */
const ENVIRONMENT = {
  SEXTON_TRUSTED_PROXIES: '127.0.0.0/8',
  SEXTON_GUARD_PER_MINUTE: '10000000,10000000,10000000',
  SEXTON_METRICS_PORT: 'off',
  LOG_LEVEL: 'warn',
}

/** Starts the chains; roles are started by the caller. */
export async function startAccountsWorld(options: AccountsWorldOptions): Promise<AccountsWorld> {
  await buildService()
  const folder = mkdtempSync(join(tmpdir(), 'sexton-accounts-'))
  const clear = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', clear)
  const dataFolder = join(folder, 'data')
  mkdirSync(dataFolder)
  const devnet = options.devnet ?? (await startOwnDevnet())
  const file = fileFor(devnet, options)
  const ecosystemFile = join(folder, 'ecosystem.json')
  writeFileSync(ecosystemFile, JSON.stringify(file))
  const { databaseUrl } = options
  const running = new Set<RoleProcess>()
  const here = new Set<RoleHere>()
  const environmentOf = (more: CommandMore) =>
    environmentIn({ dataFolder, ecosystemFile, databaseUrl }, more)
  const run: AccountsWorld['run'] = (flags, more = {}) => runCommand(flags, environmentOf(more))
  const start: AccountsWorld['start'] = async (role, more = {}) => {
    const started = startRole({
      ...more,
      role,
      port: await freePort(0),
      environment: {
        // Compiled once for all the processes of a test.
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(folder, 'compiled'),
        ...environmentOf(more),
      },
    })
    running.add(started)
    void started.exit.then(() => running.delete(started))
    return started
  }
  const startHere: AccountsWorld['startHere'] = async (role, more = {}) => {
    const started = await startRoleHere({ role, environment: environmentOf(more) })
    here.add(started)
    return started
  }
  return {
    devnet,
    file,
    folder,
    dataFolder,
    start,
    startHere,
    async mine(blocks) {
      await mine(devnet.chains.base.client, { blocks })
      await mine(devnet.chains.ethereum.client, { blocks })
    },
    run,
    async audit(folder) {
      const { code, stdout, stderr } = await run(['audit'], {
        ...(folder && { dataFolder: folder }),
      })
      return { code, words: stdout + stderr }
    },
    openAccounts: () =>
      openStore(
        dataFolder,
        'accounts',
        databaseUrl === undefined ? { kind: 'sqlite' } : { kind: 'postgres', url: databaseUrl },
      ),
    async stop() {
      await Promise.all([...running].map((each) => each.kill()))
      await Promise.all([...here].map((each) => each.stop()))
      if (options.devnet === undefined) await devnet.stop()
      process.off('exit', clear)
      clear()
    },
  }
}

function environmentIn(
  world: {
    readonly dataFolder: string
    readonly ecosystemFile: string
    readonly databaseUrl: string | undefined
  },
  { environment, dataFolder = world.dataFolder }: CommandMore,
): Readonly<Record<string, string>> {
  const { ecosystemFile, databaseUrl } = world
  return {
    ...ENVIRONMENT,
    SEXTON_DATA: dataFolder,
    SEXTON_ECOSYSTEM: ecosystemFile,
    ...(databaseUrl !== undefined && { SEXTON_DATABASE_URL: databaseUrl }),
    ...environment,
  }
}

function fileFor(devnet: Devnet, options: AccountsWorldOptions): EcosystemFile {
  const { base, ethereum } = devnet.chains
  const local = localFile(4020, { base: base.rpcUrl, ethereum: ethereum.rpcUrl })
  const { staleAfterSeconds = 1_000_000_000 } = options
  return {
    ...local,
    ...(options.quotas && { quotas: options.quotas }),
    chains: local.chains.map((chain) => ({
      ...chain,
      pollIntervalMs: POLL_INTERVAL_MS,
      staleAfterSeconds,
    })),
  }
}
