import { readJson } from '../bench-process.ts'
import type { ChainTruth, TokenTruth } from './chain-truth.ts'

type Figures = Readonly<Record<string, unknown>>

const WINDOWS = ['last24h', 'last7d', 'last30d'] as const

/** Whether the burns of 24 hours, 7 and 30 days are right: the first useful answer. */
export async function windowsAreRight(url: string, truth: ChainTruth): Promise<boolean> {
  const answer = await readJson(`${url}/api/burns/total`)
  return differences(windowsOf(answer?.data), windowsOf(truth.grave)).length === 0
}

/** Compares what the API says with what the chain's makers know; throws on any difference. */
export async function checkFigures(url: string, truth: ChainTruth): Promise<void> {
  const read = async (path: string) => (await readJson(url + path))?.data
  const stats = await read('/api/stats')
  const dividends = await read('/api/dividends/total')
  const crypt = stats?.tokens?.find((each: Figures) => each.symbol === 'CRYPT')
  const amountOf = (symbol: string) =>
    stats?.lifetimeDividends?.find((each: Figures) => each.token === symbol)?.amountRaw
  const found = {
    ...burnsOf('grave', await read('/api/burns/total')),
    ...burnsOf('crypt', await read('/api/burns/total?token=CRYPT')),
    supply: stats?.totalSupplyRaw,
    circulating: stats?.circulatingSupplyRaw,
    holders: `${stats?.holderCount} ${crypt?.holderCount}`,
    claims: dividends?.payoutCount,
    claimed: `${amountOf('USDC')} ${amountOf('WETH')}`,
    digs: `${stats?.graveDigs?.count} ${stats?.graveDigs?.totalClaimedRaw}`,
  }
  const wrong = differences(found, expectedFigures(truth))
  if (wrong.length > 0) throw new Error(`the figures are wrong:\n${wrong.join('\n')}`)
}

function expectedFigures({ grave, crypt, claims, digs }: ChainTruth): Figures {
  return {
    ...burnsOf('grave', grave),
    ...burnsOf('crypt', crypt),
    supply: grave.totalSupplyRaw,
    circulating: grave.circulatingRaw,
    holders: `${grave.holderCount} ${crypt.holderCount}`,
    claims: claims.count,
    claimed: `${claims.usdcRaw} ${claims.wethRaw}`,
    digs: `${digs.count} ${digs.claimedRaw}`,
  }
}

type Burns = Partial<Pick<TokenTruth, (typeof WINDOWS)[number] | 'totalBurnedRaw' | 'burnCount'>>

function burnsOf(token: string, burns: Burns | undefined): Figures {
  const figures = { total: burns?.totalBurnedRaw, count: burns?.burnCount, ...windowsOf(burns) }
  return Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [`${token}.${name}`, value]),
  )
}

function windowsOf(burns: Burns | undefined): Figures {
  return Object.fromEntries(
    WINDOWS.map((name) => [name, `${burns?.[name]?.burnedRaw} ${burns?.[name]?.burnCount}`]),
  )
}

function differences(found: Figures, expected: Figures): readonly string[] {
  return Object.entries(expected)
    .filter(([name, value]) => found[name] !== value)
    .map(([name, value]) => `${name} is ${found[name]}, must be ${value}`)
}
