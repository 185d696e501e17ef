package io.jrun.train.metrics;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Reports the loss and the phases of each step. Start: {@code jrun MetricsExample.java FOLDER}. */
public final class MetricsExample {
    private MetricsExample() {}

    /** Trains with reports to jrun, for {@code jrun top}, and to files of TensorBoard. */
    public static void main(String[] args) throws IOException {
        try (World world = Distributed.init();
                var events = TensorBoardWriter.open(Path.of(args[0]))) {
            System.out.println("the last report is " + train(world, events, 10));
        }
    }

    /** Learns zeros in some steps. Returns the report of the last step. */
    static Map<String, Double> train(World world, TensorBoardWriter events, int steps) throws IOException {
        var model = new LinearImpl(4, 1);
        var optimizer = new SGD(model.parameters(), new SGDOptions(0.05));
        var metrics = new StepMetrics(steps, world.metrics());
        Map<String, Double> report = Map.of();
        for (int step = 1; step <= steps; step++) {
            try (PointerScope _ = new PointerScope()) { // frees the tensors of the step
                metrics.begin(step);
                Tensor loss;
                try (var _ = metrics.phase(StepPhase.FORWARD)) {
                    loss = model.forward(torch.ones(8, 4)).square().mean();
                }
                try (var _ = metrics.phase(StepPhase.BACKWARD)) {
                    optimizer.zero_grad();
                    loss.backward();
                }
                try (var _ = metrics.phase(StepPhase.OPTIMIZER)) {
                    optimizer.step();
                }
                metrics.end(8);
                report = metrics.report(Map.of("loss", loss.item_double()));
            }
            events.write(step, report);
        }
        return report;
    }
}
