package io.jrun.trainer;

import io.jrun.train.optim.LearningRateSchedule;
import java.util.OptionalDouble;

/**
 * The learning rate and the momentum of the present step. An optimizer over flat memory counts the steps that it makes;
 * the schedule of train.jar counts skipped steps too.
 */
final class ScheduleOfStep implements LearningRateSchedule {
    private double rate;
    private OptionalDouble momentum = OptionalDouble.empty();

    void set(LearningRateSchedule schedule, long step) {
        rate = schedule.at(step);
        momentum = schedule.momentumAt(step);
    }

    @Override
    public double at(long step) {
        return rate;
    }

    @Override
    public OptionalDouble momentumAt(long step) {
        return momentum;
    }
}
