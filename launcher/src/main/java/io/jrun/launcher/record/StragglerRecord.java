package io.jrun.launcher.record;

import io.jrun.launcher.coordinator.Straggler;

/** A straggler as a line of {@link RecordFile}: its numbers in order, then the group, whose name may have blanks. Stateless. */
final class StragglerRecord {
    private static final int FIELDS = 10;

    private StragglerRecord() {}

    static String of(Straggler straggler) {
        return straggler.rank() + " " + straggler.seconds() + " " + straggler.share() + " " + straggler.score() + " "
                + straggler.last() + " " + straggler.collectives() + " " + straggler.medianSeconds() + " "
                + straggler.p95Seconds() + " " + straggler.maxSeconds() + " " + straggler.group();
    }

    static Straggler read(String line) {
        String[] fields = line.split(" ", FIELDS);
        return new Straggler(
                Integer.parseInt(fields[0]),
                fields[9],
                Double.parseDouble(fields[1]),
                Double.parseDouble(fields[2]),
                Double.parseDouble(fields[3]),
                Long.parseLong(fields[4]),
                Long.parseLong(fields[5]),
                Double.parseDouble(fields[6]),
                Double.parseDouble(fields[7]),
                Double.parseDouble(fields[8]));
    }
}
