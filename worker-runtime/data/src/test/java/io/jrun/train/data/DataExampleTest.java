package io.jrun.train.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The example of the package's page. */
class DataExampleTest {
    @Test
    void batchesHaveSamplesOfTheDataset() {
        try (World world = Distributed.init()) {
            List<Long> all = LongStream.range(0, 100).map(i -> i * i).boxed().toList();
            List<Long> read = DataExample.firstBatches(world.group()).stream()
                    .flatMap(List::stream)
                    .toList();
            assertThat(read).hasSize(8).doesNotHaveDuplicates().isSubsetOf(all);
        }
    }
}
