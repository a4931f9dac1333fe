import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from "prom-client";

export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(value: number, labels?: Labels): void;
}
export interface Gauge {
  set(value: number, labels?: Labels): void;
}
export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  /** Names of labels; their values come from closed sets. */
  readonly labels?: readonly string[];
  /** Upper bounds, of a histogram only. */
  readonly buckets?: readonly number[];
}

/** One registry. Asking for a name again gives the metric that bears it. */
export interface Metrics {
  counter(options: MetricOptions): Counter;
  gauge(options: MetricOptions): Gauge;
  histogram(options: MetricOptions): Histogram;
  /** Called just before each text(): for gauges that are read, not counted. */
  onCollect(read: () => void | Promise<void>): void;
  text(): Promise<string>;
  readonly content_type: string;
}

const SECONDS_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const known = new Map<string, Counter | Gauge | Histogram>();
  const readers: (() => void | Promise<void>)[] = [];

  function once<M extends Counter | Gauge | Histogram>(name: string, make: () => M): M {
    const earlier = known.get(name);
    if (earlier !== undefined) return earlier as M;
    const made = make();
    known.set(name, made);
    return made;
  }
  const common = ({ name, help, labels = [] }: MetricOptions) => ({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
  });

  return {
    counter: (options) =>
      once(options.name, () => {
        const counter = new PromCounter(common(options));
        return { add: (value, labels = {}) => counter.inc(labels, value) };
      }),
    gauge: (options) =>
      once(options.name, () => {
        const gauge = new PromGauge(common(options));
        return { set: (value, labels = {}) => gauge.set(labels, value) };
      }),
    histogram: (options) =>
      once(options.name, () => {
        const histogram = new PromHistogram({
          ...common(options),
          buckets: [...(options.buckets ?? SECONDS_BUCKETS)],
        });
        return { observe: (value, labels = {}) => histogram.observe(labels, value) };
      }),
    onCollect: (read) => void readers.push(read),
    text: async () => {
      await Promise.all(readers.map((read) => read()));
      return registry.metrics();
    },
    content_type: registry.contentType,
  };
}
