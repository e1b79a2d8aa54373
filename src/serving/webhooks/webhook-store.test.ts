import assert from 'node:assert/strict'
import { DAY_SECONDS } from '#lib/time.ts'
import { accountsMigrations } from '#main/stores.ts'
import { START } from '#operations/jobs/retained.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import type { WebhookState } from './webhook.ts'
import { countOfWallet, insertWebhook, RETAINED_WEBHOOKS } from './webhook-store.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const NOW_UNIX = 1_800_000_000

onBoth('ended webhooks count until they are removed, disabled ones a month', async ({ engine }) => {
  const insert = (id: string, state: WebhookState, days: number) =>
    engine.write((connection) =>
      insertWebhook(connection, {
        ...{ id, state, publicId: 'p', wallet: 'w', url: 'https://a.example', filter: '{}' },
        ...{ secret: '', cursor: '', createdUnix: 0, answerUnix: NOW_UNIX - days * DAY_SECONDS },
      }),
    )
  await insert('ended', 'ended', 2)
  await insert('disabled', 'disabled', 29)
  await insert('long disabled', 'disabled', 31)
  await insert('active', 'active', 40)
  const count = () => engine.write((connection) => countOfWallet(connection, 'w'))
  assert.equal(await count(), 4)
  const beforeUnix = NOW_UNIX - RETAINED_WEBHOOKS.keepDays * DAY_SECONDS
  await engine.write((connection) =>
    RETAINED_WEBHOOKS.deletePage(connection, { beforeUnix, limit: 10, place: START }),
  )
  assert.equal(await count(), 2)
})
