import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** What callers saw. */
export interface TrafficFigures {
  /** Answers of 200 by secret. */
  readonly answered: ReadonlyMap<string, number>
  /** Calls by secret whose connection broke: counted or not. */
  readonly broken: ReadonlyMap<string, number>
  /** Answers of 503. */
  readonly unavailable: number
  /** Connections refused while no process listened. */
  readonly refused: number
  /** Any other answer, in words. */
  readonly wrong: readonly string[]
}

export interface Traffic {
  stop(): Promise<TrafficFigures>
}

export interface TrafficOptions {
  readonly secrets: readonly string[]
  readonly url: string
  readonly path: string
  readonly connections: number
  /** Between two calls of a connection. */
  readonly pauseMs: number
}

interface Answer {
  readonly status: number
  readonly body: string
}

/** Every key calls in turn, over kept connections, until it is stopped. */
export function startTraffic(options: TrafficOptions): Traffic {
  const { secrets, connections, pauseMs } = options
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const seen = createRecord()
  let isOver = false
  let next = 0
  const work = async () => {
    while (!isOver) {
      const secret = secrets[next++ % secrets.length] ?? ''
      const answer = await call(agent, `${options.url}${options.path}`, secret).catch(
        (error: Error) => error,
      )
      seen.note(secret, answer)
      await sleep(pauseMs)
    }
  }
  const working = Array.from({ length: connections }, work)
  return {
    async stop() {
      isOver = true
      await Promise.all(working)
      agent.destroy()
      return seen.figures()
    },
  }
}

function createRecord() {
  const answered = new Map<string, number>()
  const broken = new Map<string, number>()
  const wrong: string[] = []
  let [unavailable, refused] = [0, 0]
  const add = (to: Map<string, number>, secret: string) =>
    void to.set(secret, (to.get(secret) ?? 0) + 1)
  return {
    note(secret: string, answer: Answer | Error) {
      if (answer instanceof Error) {
        if ('code' in answer && answer.code === 'ECONNREFUSED') refused += 1
        else add(broken, secret)
        return
      }
      if (answer.status === 200) add(answered, secret)
      else if (answer.status === 503) unavailable += 1
      else wrong.push(`${answer.status} ${answer.body.slice(0, 300)}`)
    },
    figures: (): TrafficFigures => ({ answered, broken, unavailable, refused, wrong }),
  }
}

function call(agent: Agent, url: string, secret: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { agent, headers: { authorization: `Bearer ${secret}` } },
      (answer) => {
        let body = ''
        answer.setEncoding('utf8')
        answer.on('data', (text: string) => {
          body += text
        })
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
        answer.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end()
  })
}
