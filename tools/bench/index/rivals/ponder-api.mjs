import { db } from 'ponder:api'
import { balance, burn, claim, dig } from 'ponder:schema'
import { Hono } from 'hono'
import { count, gt, lt, sum } from 'ponder'

const app = new Hono()

/** Figures to compare with what the chain's makers know. */
app.get('/figures', async (context) => {
  const [burns] = await db.select({ count: count(), amount: sum(burn.amount) }).from(burn)
  const [claims] = await db.select({ count: count(), amount: sum(claim.amount) }).from(claim)
  const [digs] = await db.select({ count: count(), amount: sum(dig.amount) }).from(dig)
  const [holders] = await db.select({ count: count() }).from(balance).where(gt(balance.amount, 0n))
  const [debtors] = await db.select({ count: count() }).from(balance).where(lt(balance.amount, 0n))
  return context.json({
    burns: burns.count,
    burned: String(burns.amount),
    claims: claims.count,
    claimed: String(claims.amount),
    digs: digs.count,
    holders: holders.count,
    debtors: debtors.count,
  })
})

export default app
