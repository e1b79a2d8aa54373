import { ponder } from 'ponder:registry'
import { balance, burn, burnDay, claim, dig } from 'ponder:schema'

const ZERO = '0x0000000000000000000000000000000000000000'
const DEAD = '0x000000000000000000000000000000000000dead'
const DAY_SECONDS = 86_400

function idOf(event) {
  return `${event.block.number}-${event.log.logIndex}`
}

async function add(context, token, account, amount) {
  await context.db
    .insert(balance)
    .values({ token, account, amount })
    .onConflictDoUpdate((row) => ({ amount: row.amount + amount }))
}

ponder.on('Token:Transfer', async ({ event, context }) => {
  const { from, to, value } = event.args
  const token = event.log.address
  if (from !== ZERO) await add(context, token, from, -value)
  if (to !== ZERO) await add(context, token, to, value)
  if (to !== ZERO && to.toLowerCase() !== DEAD) return
  const timestamp = Number(event.block.timestamp)
  await context.db.insert(burn).values({
    id: idOf(event),
    token,
    from,
    to,
    amount: value,
    timestamp,
    transactionHash: event.transaction.hash,
  })
  await context.db
    .insert(burnDay)
    .values({ token, day: timestamp - (timestamp % DAY_SECONDS), amount: value, burns: 1 })
    .onConflictDoUpdate((row) => ({ amount: row.amount + value, burns: row.burns + 1 }))
})

ponder.on('Distributor:DividendClaimed', async ({ event, context }) => {
  const { account, token, amount } = event.args
  await context.db.insert(claim).values({
    id: idOf(event),
    account,
    token,
    amount,
    timestamp: Number(event.block.timestamp),
    transactionHash: event.transaction.hash,
  })
})

ponder.on('Graveyard:GraveDug', async ({ event, context }) => {
  const { digger, amount } = event.args
  await context.db.insert(dig).values({
    id: idOf(event),
    digger,
    amount,
    timestamp: Number(event.block.timestamp),
    transactionHash: event.transaction.hash,
  })
})
