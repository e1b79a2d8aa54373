import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { grantQuota } from '#callers/keys/granted-quotas.ts'
import { parseAddress, ZERO_ADDRESS } from '#domain/address.ts'
import { readSettings } from '#main/settings.ts'
import { accountsMigrations, migrateStore, openStore } from '#main/stores.ts'
import { type CopyOptions, runCopy } from '#operations/copy/run-copy.ts'
import type { Engine } from '#store/engine.ts'
import { createMoneyWorld, type HeldKey, type MoneyWorld } from '#test/money/money-world.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { makeFile } from '#test/store/each-engine.ts'

export type Kind = 'SQLite' | 'PostgreSQL'

export const PAIRS = [
  ['SQLite', 'SQLite'],
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
  ['PostgreSQL', 'PostgreSQL'],
] as const satisfies readonly (readonly [Kind, Kind])[]

/** A data folder or a database. */
export interface TestPlace {
  readonly folder: string
  readonly url: string | undefined
  /** As the command line names it. */
  readonly text: string
}

export interface Lived {
  readonly world: MoneyWorld
  readonly engine: Engine
  readonly key: HeldKey
  readonly doomed: HeldKey
}

// biome-ignore lint/suspicious/noExplicitAny: the command's JSON is what the assertions look at.
type Copied = any

/** Folders and databases for the tests of a file. */
export function setUpPlaces() {
  let postgres: TestPostgres
  let root: string
  before(async () => {
    postgres = await startPostgres()
    root = mkdtempSync(join(tmpdir(), 'sexton-copy-'))
  })
  after(async () => {
    await postgres.stop()
    rmSync(root, { recursive: true, force: true })
  })
  const newFolder = (name: string) => mkdtempSync(join(root, `${name}-`))
  return {
    newFolder,
    newFile: () => join(newFolder('backup'), 'accounts.sqlite'),
    async newPlace(kind: Kind): Promise<TestPlace> {
      const folder = newFolder('data')
      const url = kind === 'SQLite' ? undefined : await postgres.createDatabase()
      return { folder, url, text: url ?? folder }
    },
  }
}

export function openPlace(
  { folder, url }: TestPlace,
  name: 'register' | 'accounts' = 'accounts',
): Promise<Engine> {
  return openStore(folder, name, url === undefined ? { kind: 'sqlite' } : { kind: 'postgres', url })
}

/** Keys, money, a granted quota, spend and a closed day. */
export async function liveIn(place: TestPlace): Promise<Lived> {
  if (place.url === undefined)
    await makeFile(join(place.folder, 'accounts.sqlite'), accountsMigrations)
  const engine = await openPlace(place)
  await migrateStore(engine, 'accounts')
  const world = createMoneyWorld(engine)
  const key = await world.mint()
  const doomed = await world.mint()
  await world.deposit({ payer: key.wallet, key, amount: 5_000n })
  await world.confirm()
  await world.call(key, 14)
  await world.rotate(await world.mint(key.wallet))
  const wallet = parseAddress(key.wallet.address) ?? ZERO_ADDRESS
  const granted = { wallet, dailyQuota: 9_000, untilUnix: 9_999_999_999 }
  await engine.write((tx) => grantQuota(tx, { ...granted, reason: 'a partner', grantedUnix: 1 }))
  await world.wait(40 * 3_600)
  return { world, engine, key, doomed }
}

/** Runs `sexton copy` in this process and returns its JSON, with what it said and its exit code. */
export async function copy(
  options: Partial<CopyOptions>,
  clock: () => number = Date.now,
): Promise<Copied> {
  const progress = { update: () => undefined, print: () => undefined, finish: () => undefined }
  const settings = readSettings({}, { isTty: false })
  const outcome: { said: string[]; code: number; result: Readonly<Record<string, unknown>> } = {
    said: [],
    code: 0,
    result: {},
  }
  const report = {
    say: (text: string) => void outcome.said.push(text),
    done(result: Readonly<Record<string, unknown>>, code = 0) {
      Object.assign(outcome, { result, code })
    },
  }
  await runCopy({ settings, clock, progress }, report, { despiteDifferences: false, ...options })
  const { result, said, code } = outcome
  return { ...result, said, code }
}
