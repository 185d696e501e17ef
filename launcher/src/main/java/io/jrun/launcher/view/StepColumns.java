package io.jrun.launcher.view;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Values of steps in a bounded number of columns. A column holds one step at first. When there are too many columns,
 * each takes twice as many steps. Confined to one thread.
 *
 * @param <C> the values of a column
 */
final class StepColumns<C extends StepColumns.Column<C>> {
    /** The values of the steps of a column. */
    interface Column<C> {
        /** Adds the values of a later column. */
        void add(C later);
    }

    /**
     * A column in the form in which it is sent.
     *
     * @param step the first step
     * @param timeMillis the time of the last report
     */
    record Shown<C>(long step, long timeMillis, C values) {}

    /**
     * The columns that have changed.
     *
     * @param revision to be given in the next call
     * @param isWhole whether these are all columns, because the width has changed or columns were removed
     */
    record Changes<C>(long revision, boolean isWhole, long width, List<Shown<C>> columns) {}

    private static final class Place<C> {
        private final C values;
        private long timeMillis;
        private long revision;

        Place(C values) {
            this.values = values;
        }
    }

    private final int most;
    private final Supplier<C> empty;
    private NavigableMap<Long, Place<C>> places = new TreeMap<>();
    private long width = 1;
    private long revision;
    private long wholeRevision;

    /** @param empty makes the values of a column */
    StepColumns(int most, Supplier<C> empty) {
        this.most = most;
        this.empty = empty;
    }

    /** The values of the column of a step, which are about to change. */
    C at(long step, long timeMillis) {
        while (!places.containsKey(step / width) && places.size() >= most) {
            widen();
        }
        Place<C> place = places.computeIfAbsent(step / width, _ -> new Place<>(empty.get()));
        place.timeMillis = Math.max(place.timeMillis, timeMillis);
        place.revision = ++revision;
        return place.values;
    }

    private void widen() {
        NavigableMap<Long, Place<C>> merged = new TreeMap<>();
        width *= 2;
        places.forEach((column, place) -> {
            Place<C> known = merged.putIfAbsent(column / 2, place);
            if (known != null) {
                known.values.add(place.values);
                known.timeMillis = Math.max(known.timeMillis, place.timeMillis);
            }
        });
        places = merged;
        wholeRevision = ++revision;
    }

    /** Removes the columns from a step on: the training goes on from an earlier step. */
    void removeFrom(long step) {
        if (!places.tailMap(step / width, true).isEmpty()) {
            places.tailMap(step / width, true).clear();
            wholeRevision = ++revision;
        }
    }

    long revision() {
        return revision;
    }

    /** The columns that have changed since a revision, 0 for all. */
    Changes<C> since(long known) {
        boolean isWhole = known < wholeRevision || known == 0;
        List<Shown<C>> changed = new ArrayList<>();
        for (Map.Entry<Long, Place<C>> column : places.entrySet()) {
            Place<C> place = column.getValue();
            if (isWhole || place.revision > known) {
                changed.add(new Shown<>(column.getKey() * width, place.timeMillis, place.values));
            }
        }
        return new Changes<>(revision, isWhole, width, changed);
    }
}
