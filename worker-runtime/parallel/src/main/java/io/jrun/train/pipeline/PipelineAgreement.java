package io.jrun.train.pipeline;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.pipeline.schedule.PipelineSchedule;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.CRC32C;

/** The check that all ranks have the same schedule, the same layers and the same cut. */
final class PipelineAgreement {
    private static final List<String> SUBJECTS = List.of("schedule", "cut", "layers or their parameters");

    private PipelineAgreement() {}

    static void require(PipelineSchedule schedule, List<PipelineLayer> layers, StageCut cut, ProcessGroup pipeline) {
        StringBuilder model = new StringBuilder();
        for (PipelineLayer layer : layers) {
            model.append(layer.name()).append('\n');
            layer.parameters()
                    .forEach((name, tensor) -> model.append(name)
                            .append(' ')
                            .append(TensorMemory.form(tensor))
                            .append('\n'));
        }
        long[] mine = {hash(schedule.text()), hash(cut.toString()), hash(model.toString())};
        long[] all = new long[mine.length * pipeline.size()];
        pipeline.allGather(MemorySegment.ofArray(mine), MemorySegment.ofArray(all), DataType.I64, mine.length);
        for (int rank = 1; rank < pipeline.size(); rank++) {
            for (int subject = 0; subject < mine.length; subject++) {
                if (all[rank * mine.length + subject] != all[subject]) {
                    throw new PipelineException("pipeline rank " + rank + " (rank " + pipeline.worldRank(rank)
                            + ") has another " + SUBJECTS.get(subject)
                            + " than pipeline rank 0: all ranks must build the"
                            + " same model with the same options");
                }
            }
        }
    }

    private static long hash(String text) {
        CRC32C hash = new CRC32C();
        hash.update(text.getBytes(StandardCharsets.UTF_8));
        return hash.getValue();
    }
}
