package io.jrun.bench;

import io.jrun.comm.World;
import io.jrun.train.gloo.GlooRendezvous;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterOptimizer;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BackendOptional;
import org.bytedeco.pytorch.BoolVector;
import org.bytedeco.pytorch.LoggerOptional;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.PrefixStore;
import org.bytedeco.pytorch.ProcessGroup;
import org.bytedeco.pytorch.Reducer;
import org.bytedeco.pytorch.SizeTStringMap;
import org.bytedeco.pytorch.SizeTVector;
import org.bytedeco.pytorch.SizeTVectorVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Trains with libtorch's own DDP over Gloo: the C++ Reducer inside torch's DistributedDataParallel, with gradients as
 * views of its buckets and torch's bucket sizes.
 */
final class ReducerLoop implements TrainingLoop {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final long FIRST_BUCKET_BYTES = 1 << 20;
    private static final long BUCKET_BYTES = 25 << 20;

    private final BenchGpt model;
    private final BenchPrecision precision;
    private final ParameterOptimizer optimizer;
    private final Reducer reducer;
    private final List<Tensor> parameters;

    ReducerLoop(BenchGpt model, World world, BenchOptimizer optimizer, BenchPrecision precision) {
        this.model = model;
        this.precision = precision;
        this.optimizer = optimizer.start(Parameters.of(model), PaddedGradients.NONE);
        TensorVector vector = GlooRendezvous.kept(model.parameters());
        parameters = LongStream.range(0, vector.size())
                .mapToObj(i -> new Tensor(vector.get(i)))
                .toList();
        GlooRendezvous gloo = connect(world);
        ProcessGroup group = GlooRendezvous.kept(new ProcessGroup(
                GlooRendezvous.kept(new PrefixStore("reducer", gloo.store())), world.rank(), world.size()));
        group.setBackend(torch.DeviceType.CPU, ProcessGroup.BackendType.GLOO, new BackendOptional(gloo.group()));
        group.setDefaultBackend(ProcessGroup.BackendType.GLOO);
        BoolVector sparse = new BoolVector(vector.size());
        for (long i = 0; i < vector.size(); i++) {
            sparse.put(i, false);
        }
        SizeTVectorVector inOrder = torch.compute_bucket_assignment_by_size(
                        vector,
                        new SizeTVector(FIRST_BUCKET_BYTES, BUCKET_BYTES),
                        sparse,
                        new LongVector(),
                        new LoggerOptional())
                .get0();
        long buckets = inOrder.size();
        SizeTVectorVector reversed = new SizeTVectorVector(buckets);
        for (long i = 0; i < buckets; i++) {
            reversed.put(i, inOrder.get(buckets - 1 - i));
        }
        reducer = GlooRendezvous.kept(new Reducer(
                vector,
                reversed,
                group,
                sparse,
                BUCKET_BYTES,
                false,
                true,
                new SizeTStringMap(),
                FIRST_BUCKET_BYTES,
                false,
                false));
    }

    private static GlooRendezvous connect(World world) {
        String key = "bench/gloo-store-port";
        UnaryOperator<byte[]> announce = mine -> {
            if (world.rank() > 0) {
                return world.store().get(key, TIMEOUT);
            }
            world.store().set(key, mine);
            return mine;
        };
        return GlooRendezvous.open(world.rank(), Collections.nCopies(world.size(), "127.0.0.1"), announce, TIMEOUT);
    }

    @Override
    public StepResult step(BenchData.Batch batch) {
        try (PointerScope _ = new PointerScope()) {
            long begin = System.nanoTime();
            for (Tensor parameter : parameters) {
                parameter.mutable_grad().reset(); // C++ zero_grad() cannot detach a view of a bucket
            }
            reducer.prepare_for_forward();
            Tensor loss = precision.loss(model, batch.x_BS(), batch.y_BS());
            reducer.prepare_for_backward(new TensorVector(0L));
            long forwardEnd = System.nanoTime();
            loss.backward();
            long backwardEnd = System.nanoTime();
            optimizer.step();
            return StepResult.of(loss.item_float(), begin, forwardEnd, backwardEnd, 0);
        }
    }

    @Override
    public void close() {
        optimizer.close();
    }
}
