import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { HOUR_SECONDS, MINUTE_MS, unixNow } from '#base/time.ts'
import { type Context, reportError } from '#context.ts'
import { type RegisterName, registerName } from '#data/datasets.ts'
import type { Tables } from '#db/engine.ts'
import { column, plain, sql } from '#db/sql.ts'
import { judgeCondition, readIndexStatus } from '#index/status.ts'

/** A table in the accounts that lists the registers, one per ecosystem file. */
export const registersTables: Tables = `
      create table registers (
        name text primary key,
        made_unix bigint not null,
        -- When it had first caught up with every chain.
        whole_unix bigint,
        served_unix bigint not null
      )`

/** Registers that no process served for this long are deleted. */
const KEPT_SECONDS = HOUR_SECONDS

/** Records every minute that this process serves or builds its register, and deletes registers that no process uses. */
export async function keepRegister(ctx: Context): Promise<() => void> {
  const keep = async () => {
    await noteServed(ctx)
    await deleteUnserved(ctx)
  }
  await keep()
  const timer = setInterval(() => {
    keep().catch((error: unknown) => reportError(ctx, error))
  }, MINUTE_MS)
  return () => clearInterval(timer)
}

export async function noteServed({ ecosystem, register, accounts, clock }: Context): Promise<void> {
  const nowUnix = unixNow(clock)
  const status = await register.snapshot((reads) => readIndexStatus(reads, ecosystem.chains))
  const isWhole =
    status?.chains.every((each) => judgeCondition(each, nowUnix) !== 'syncing') === true
  await accounts.write((tx) =>
    tx.run(sql`
      insert into registers (name, made_unix, whole_unix, served_unix)
      values (${registerName(ecosystem)}, ${nowUnix}, ${isWhole ? nowUnix : null}, ${nowUnix})
      on conflict (name) do update set served_unix = excluded.served_unix,
        whole_unix = coalesce(registers.whole_unix, excluded.whole_unix)`),
  )
}

/** Keeps registers made after this process's own: a new one may be built long before it is served. */
export async function deleteUnserved(
  ctx: Pick<Context, 'accounts' | 'clock' | 'config' | 'ecosystem' | 'logger'>,
): Promise<void> {
  const { accounts, clock, config, ecosystem, logger } = ctx
  const isUnserved = sql`served_unix < ${unixNow(clock) - KEPT_SECONDS} and made_unix < (
    select made_unix from registers where name = ${registerName(ecosystem)} and whole_unix is not null)`
  const found = await accounts.read(sql`
    select name from registers where ${isUnserved} order by name`)
  for (const row of found) {
    const name = column.text(row, 'name') as RegisterName
    const isDeleted = await accounts.writeWithoutTimeout(async (tx) => {
      const deleted = await tx.run(sql`
        delete from registers where name = ${name} and ${isUnserved} returning name`)
      if (deleted.length > 0 && accounts.dialect === 'postgres')
        await tx.run(plain(`drop schema if exists ${name} cascade`))
      return deleted.length > 0
    })
    if (!isDeleted) continue
    if (accounts.dialect === 'sqlite') deleteFiles(storeFile(config.dataFolder, name))
    logger.info({ register: name }, 'deleted a register that no process has served for an hour')
  }
}

function deleteFiles(file: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
}

export type StoreName = 'accounts' | RegisterName

export function storeFile(dataFolder: string, name: StoreName): string {
  return join(dataFolder, `${name}.sqlite`)
}
