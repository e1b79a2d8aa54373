import { registerMigrations } from '#chains/datasets/datasets.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { Migration } from '#store/engine.ts'

/** Preloaded into a process (`node --import`): makes it a version that migrates the largest tables of both stores. */
function add(migrations: readonly Migration[], sql: string): void {
  const id = 1 + Math.max(...migrations.map((each) => each.id))
  ;(migrations as Migration[]).push({ id, name: 'of the next version', sql })
}

add(
  accountsMigrations,
  `alter table keys add column next_version text;
  alter table usage_days add column next_version bigint;
  create table next_version (id bigint primary key)`,
)
add(
  registerMigrations,
  `alter table events add column next_version text;
  create index next_version on balances (balance)`,
)
