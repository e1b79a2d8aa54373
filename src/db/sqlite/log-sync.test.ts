import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { column } from '#db/sql.ts'
import { type HeldDisk, heldDisk, turn, until } from '#test/store/log-sync-harness.ts'
import { type Engine, StoreError } from '../engine.ts'
import { sql } from '../sql.ts'
import { openSqlite } from './open-sqlite.ts'

interface World extends HeldDisk {
  readonly engine: Engine
}

async function inWorld(work: (world: World) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  const disk = heldDisk()
  disk.isFree = true
  const engine = openSqlite({
    file: join(folder, 'store.sqlite'),
    durability: 'full',
    sync: disk.sync,
  })
  const world: World = Object.assign(disk, { engine })
  try {
    await engine.migrate([{ id: 1, name: 'things', sql: 'create table things (id bigint)' }])
    world.isFree = false
    await work(world)
  } finally {
    world.isFree = true
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  }
}

const add = ({ engine }: World, id: number) =>
  engine.write((connection) => connection.run(sql`insert into things (id) values (${id})`))

const list = async ({ engine }: World) =>
  (await engine.read(sql`select id from things order by id`)).map((row) =>
    column.integer(row, 'id'),
  )

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending')
  await turn()
  const settled = promise.catch(() => undefined)
  return (await Promise.race([settled, turn().then(() => pending)])) === pending
}

test('neither who writes nor who reads it is told of a commit before it is on the disk', () =>
  inWorld(async (world) => {
    const written = add(world, 1)
    await until(() => world.syncs.length === 1)
    const read = list(world)
    assert.ok(await isPending(written))
    assert.ok(await isPending(read))
    world.syncs[0]?.resolve()
    await written
    assert.deepEqual(await read, [1])
  }))

test('a sync that began before a commit does not count for it; those who wait share the next', () =>
  inWorld(async (world) => {
    const first = add(world, 1)
    await until(() => world.syncs.length === 1)
    const others = [add(world, 2), add(world, 3)]
    await turn()
    assert.equal(world.syncs.length, 1)
    world.syncs[0]?.resolve()
    await first
    await until(() => world.syncs.length === 2)
    assert.ok(await isPending(Promise.race(others)))
    world.syncs[1]?.resolve()
    await Promise.all(others)
    assert.equal(world.syncs.length, 2)
  }))

test('after a failed sync nothing counts as durable until the whole log was copied', () =>
  inWorld(async (world) => {
    const failed = assert.rejects(add(world, 1), StoreError)
    await until(() => world.syncs.length === 1)
    const behind = assert.rejects(add(world, 2), StoreError)
    await turn()
    world.syncs[0]?.reject(new Error('EIO'))
    await failed
    await until(() => world.syncs.length === 2)
    world.syncs[1]?.resolve()
    await behind
    world.isFree = true
    await add(world, 3)
    assert.deepEqual(await list(world), [1, 2, 3])
  }))

test('a read heals the log too, once no reader of an older state holds it', () =>
  inWorld(async (world) => {
    const failed = assert.rejects(add(world, 1), StoreError)
    await until(() => world.syncs.length === 1)
    world.syncs[0]?.reject(new Error('EIO'))
    await failed
    assert.deepEqual(await list(world), [1])
    world.isFree = true
    await add(world, 2)
  }))
