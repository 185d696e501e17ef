package io.jrun.launcher.view;

import io.jrun.launcher.event.JobEvent.MetricReported;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The metrics of a job over its steps: of each name the least, mean and largest value of all ranks, and the time of each
 * rank with and without its waits. Confined to one thread.
 */
final class MetricColumns {
    /** More columns than a screen has pixels show nothing more. */
    private static final int MOST_COLUMNS = 2000;

    /** With a thousand ranks 400,000 cells, in 3 MB. */
    private static final int MOST_HEAT_COLUMNS = 400;

    /** Names of a job: the limit of one report. */
    private static final int MOST_NAMES = 64;

    private static final String STEP = "step_seconds";
    private static final String WAIT = "exposed_communication_seconds";
    private static final double NANOS = 1e9;

    private final Map<String, Integer> names = new LinkedHashMap<>();
    private final StepColumns<Cells> columns = new StepColumns<>(MOST_COLUMNS, Cells::new);
    private final StepColumns<RankTimes> heat = new StepColumns<>(MOST_HEAT_COLUMNS, RankTimes::new);
    private final Map<Integer, MetricReported> latest = new TreeMap<>();
    private int round;
    private int ranks;

    /** Least, sum, largest and number of the values of each name. */
    private static final class Cells implements StepColumns.Column<Cells> {
        private double[] least = new double[0];
        private double[] sum = new double[0];
        private double[] most = new double[0];
        private long[] count = new long[0];

        void put(int name, double value) {
            put(name, value, value, value, 1);
        }

        private void put(int name, double low, double total, double high, long number) {
            if (name >= count.length) {
                int length = Math.max(name + 1, 2 * count.length);
                least = Arrays.copyOf(least, length);
                sum = Arrays.copyOf(sum, length);
                most = Arrays.copyOf(most, length);
                count = Arrays.copyOf(count, length);
            }
            least[name] = count[name] == 0 ? low : Math.min(least[name], low);
            most[name] = count[name] == 0 ? high : Math.max(most[name], high);
            sum[name] += total;
            count[name] += number;
        }

        @Override
        public void add(Cells later) {
            for (int name = 0; name < later.count.length; name++) {
                if (later.count[name] > 0) {
                    put(name, later.least[name], later.sum[name], later.most[name], later.count[name]);
                }
            }
        }

        /** Least, mean and largest; null without a value. */
        @Nullable
        List<Double> shown(int name) {
            return name >= count.length || count[name] == 0
                    ? null
                    : List.of(least[name], sum[name] / count[name], most[name]);
        }
    }

    /** The time of each rank's steps, and the part in which the rank waited for others, in nanoseconds. */
    private static final class RankTimes implements StepColumns.Column<RankTimes> {
        private long[] stepNanos = new long[0];
        private long[] waitNanos = new long[0];
        private int[] count = new int[0];

        void put(int rank, long step, long wait, int number) {
            if (rank >= count.length) {
                int length = Math.max(rank + 1, 2 * count.length);
                stepNanos = Arrays.copyOf(stepNanos, length);
                waitNanos = Arrays.copyOf(waitNanos, length);
                count = Arrays.copyOf(count, length);
            }
            stepNanos[rank] += step;
            waitNanos[rank] += wait;
            count[rank] += number;
        }

        @Override
        public void add(RankTimes later) {
            for (int rank = 0; rank < later.count.length; rank++) {
                if (later.count[rank] > 0) {
                    put(rank, later.stepNanos[rank], later.waitNanos[rank], later.count[rank]);
                }
            }
        }

        /** Microseconds of each rank, -1 for a rank without a report. */
        List<Long> shown(long[] nanos, int ranks) {
            List<Long> micros = new ArrayList<>();
            for (int rank = 0; rank < ranks; rank++) {
                boolean isKnown = rank < count.length && count[rank] > 0;
                micros.add(isKnown ? nanos[rank] / count[rank] / 1000 : -1);
            }
            return micros;
        }
    }

    void put(long timeMillis, MetricReported report) {
        if (report.round() > round) {
            round = report.round();
            latest.clear();
            columns.removeFrom(report.step());
            heat.removeFrom(report.step());
        }
        ranks = Math.max(ranks, report.rank() + 1);
        latest.put(report.rank(), report);
        Cells cells = columns.at(report.step(), timeMillis);
        report.values().forEach((name, value) -> {
            if (names.size() < MOST_NAMES || names.containsKey(name)) {
                int number = names.computeIfAbsent(name, _ -> names.size());
                if (Double.isFinite(value)) {
                    cells.put(number, value);
                }
            }
        });
        Double step = report.values().get(STEP);
        if (step != null && Double.isFinite(step)) {
            double wait = report.values().getOrDefault(WAIT, 0.0);
            heat.at(report.step(), timeMillis)
                    .put(report.rank(), (long) (step * NANOS), (long) (Math.min(wait, step) * NANOS), 1);
        }
    }

    /** The last report of each rank in the last round. */
    Map<Integer, MetricReported> latest() {
        return latest;
    }

    long revision() {
        return columns.revision();
    }

    /**
     * Columns as JSON: {@code columns[]} is {@code [step, seconds since 1970, values]}, and values has
     * {@code [least, mean, largest]} or null for each of {@code names}.
     */
    Map<String, Object> json(long since) {
        StepColumns.Changes<Cells> changes = columns.since(since);
        List<Object> shown = new ArrayList<>();
        for (StepColumns.Shown<Cells> column : changes.columns()) {
            List<@Nullable List<Double>> values = new ArrayList<>();
            names.values().forEach(name -> values.add(column.values().shown(name)));
            shown.add(List.of(column.step(), column.timeMillis() / 1000.0, values));
        }
        Map<String, Object> json = head(changes.revision(), changes.isWhole(), changes.width());
        json.put("names", List.copyOf(names.keySet()));
        json.put("columns", shown);
        return json;
    }

    /** The times of all ranks as JSON: {@code columns[]} is {@code [step, step[], wait[]]} in
     * microseconds by rank. */
    Map<String, Object> heatJson(long since) {
        StepColumns.Changes<RankTimes> changes = heat.since(since);
        List<Object> shown = new ArrayList<>();
        for (StepColumns.Shown<RankTimes> column : changes.columns()) {
            RankTimes times = column.values();
            List<Long> steps = times.shown(times.stepNanos, ranks);
            List<Long> waits = times.shown(times.waitNanos, ranks);
            shown.add(List.of(column.step(), steps, waits));
        }
        Map<String, Object> json = head(changes.revision(), changes.isWhole(), changes.width());
        json.put("ranks", ranks);
        json.put("columns", shown);
        return json;
    }

    private static Map<String, Object> head(long revision, boolean isWhole, long width) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("revision", revision);
        json.put("whole", isWhole);
        json.put("width", width);
        return json;
    }
}
