package io.jrun.train.optim;

import java.util.List;
import java.util.OptionalDouble;

/**
 * Schedules one after the other. Each schedule counts steps from its own begin.
 *
 * @param begins first steps, ascending; schedule i + 1 begins at step {@code begins.get(i)}
 */
record ScheduleSequence(List<LearningRateSchedule> schedules, List<Long> begins) implements LearningRateSchedule {
    ScheduleSequence {
        schedules = List.copyOf(schedules);
        begins = List.copyOf(begins);
    }

    @Override
    public double at(long step) {
        int part = part(step);
        return schedules.get(part).at(step - begin(part));
    }

    @Override
    public OptionalDouble momentumAt(long step) {
        int part = part(step);
        return schedules.get(part).momentumAt(step - begin(part));
    }

    private int part(long step) {
        int part = 0;
        while (part < begins.size() && step >= begins.get(part)) {
            part++;
        }
        return part;
    }

    private long begin(int part) {
        return part == 0 ? 0 : begins.get(part - 1);
    }
}
