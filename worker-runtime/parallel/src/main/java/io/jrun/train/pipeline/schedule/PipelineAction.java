package io.jrun.train.pipeline.schedule;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One step of a rank's program: the kind of the action, its stage and its micro-batch. The text is stage, kind,
 * micro-batch: {@code 2F0} is the forward pass of micro-batch 0 at stage 2.
 *
 * @param stage number of the stage, from 0
 * @param microBatch number of the micro-batch, from 0
 */
public record PipelineAction(int stage, ActionKind kind, int microBatch) {
    private static final Pattern TEXT = Pattern.compile("(\\d{1,6})([A-Z_]+)(\\d{1,6})");

    /**
     * Reads the text form.
     *
     * @throws ScheduleException if {@code text} is not an action
     */
    public static PipelineAction parse(String text) {
        Matcher matcher = TEXT.matcher(text);
        if (matcher.matches()) {
            for (ActionKind kind : ActionKind.values()) {
                if (kind.text().equals(matcher.group(2))) {
                    return new PipelineAction(
                            Integer.parseInt(matcher.group(1)), kind, Integer.parseInt(matcher.group(3)));
                }
            }
        }
        throw new ScheduleException(
                "'" + text + "' is not an action of a pipeline: an action is stage, kind and micro-batch, as in 2F0");
    }

    @Override
    public String toString() {
        return stage + kind.text() + microBatch;
    }
}
