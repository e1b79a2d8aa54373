import type { ChainTruth, TokenTruth } from './chain-truth.ts'
import type { SextonProcess } from './sexton-process.ts'

type Figures = Readonly<Record<string, unknown>>

/** Whether the windows of the last 24 hours, 7 and 30 days are right: the first useful answer. */
export async function windowsAreRight(sexton: SextonProcess, truth: ChainTruth): Promise<boolean> {
  const answer = await sexton.get('/api/burns/total')
  if (answer?.status !== 200) return false
  return differences(windowsOf(answer.body.data), expectedWindows(truth.grave)).length === 0
}

/** Compares what the API says with what the chain's makers know; throws on any difference. */
export async function checkFigures(sexton: SextonProcess, truth: ChainTruth): Promise<void> {
  const [stats, burns, crypt, dividends] = await Promise.all(
    ['/api/stats', '/api/burns/total', '/api/burns/total?token=CRYPT', '/api/dividends/total'].map(
      async (path) => (await sexton.get(path))?.body.data,
    ),
  )
  const secondary = stats?.tokens?.find((each: Figures) => each.symbol === 'CRYPT')
  const amountOf = (symbol: string) =>
    stats?.lifetimeDividends?.find((each: Figures) => each.token === symbol)?.amountRaw
  const found = {
    ...prefixed('grave', tokenFigures(stats, burns)),
    ...prefixed('crypt', windowsOf(crypt)),
    'crypt.totalBurned': crypt?.totalBurnedRaw,
    'crypt.burnCount': crypt?.burnCount,
    'crypt.holderCount': secondary?.holderCount,
    claims: dividends?.payoutCount,
    usdc: amountOf('USDC'),
    weth: amountOf('WETH'),
    digs: stats?.graveDigs?.count,
    dug: stats?.graveDigs?.totalClaimedRaw,
  }
  const wrong = differences(found, expectedFigures(truth))
  if (wrong.length > 0) throw new Error(`the figures are wrong:\n${wrong.join('\n')}`)
}

function expectedFigures({ grave, crypt, claims, digs }: ChainTruth): Figures {
  return {
    'grave.totalSupply': grave.totalSupplyRaw,
    'grave.circulating': grave.circulatingRaw,
    'grave.totalBurned': grave.totalBurnedRaw,
    'grave.burnCount': grave.burnCount,
    'grave.holderCount': grave.holderCount,
    ...prefixed('grave', expectedWindows(grave)),
    ...prefixed('crypt', expectedWindows(crypt)),
    'crypt.totalBurned': crypt.totalBurnedRaw,
    'crypt.burnCount': crypt.burnCount,
    'crypt.holderCount': crypt.holderCount,
    claims: claims.count,
    usdc: claims.usdcRaw,
    weth: claims.wethRaw,
    digs: digs.count,
    dug: digs.claimedRaw,
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers are compared member by member.
function tokenFigures(stats: any, burns: any): Figures {
  return {
    totalSupply: stats?.totalSupplyRaw,
    circulating: stats?.circulatingSupplyRaw,
    totalBurned: stats?.totalBurnedRaw,
    burnCount: burns?.burnCount,
    holderCount: stats?.holderCount,
    ...windowsOf(burns),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers are compared member by member.
function windowsOf(burns: any): Figures {
  const windows = ['last24h', 'last7d', 'last30d'].flatMap((name) => [
    [name, burns?.[name]?.burnedRaw],
    [`${name}.count`, burns?.[name]?.burnCount],
  ])
  return Object.fromEntries(windows)
}

function expectedWindows({ last24h, last7d, last30d }: TokenTruth): Figures {
  return windowsOf({ last24h, last7d, last30d })
}

function prefixed(prefix: string, figures: Figures): Figures {
  return Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [`${prefix}.${name}`, value]),
  )
}

function differences(found: Figures, expected: Figures): readonly string[] {
  return Object.entries(expected)
    .filter(([name, value]) => found[name] !== value)
    .map(([name, value]) => `${name} is ${found[name]}, must be ${value}`)
}
