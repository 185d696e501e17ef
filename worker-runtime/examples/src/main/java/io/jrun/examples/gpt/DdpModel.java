package io.jrun.examples.gpt;

import io.jrun.comm.ProcessGroup;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.ddp.BucketSpan;
import io.jrun.train.ddp.CommunicationHook;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.ddp.NoSync;
import io.jrun.train.ddp.ReductionTimeline;
import io.jrun.train.ddp.Step;
import io.jrun.train.ddp.hook.PowerSgdHook;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.module.ModuleWrapper;
import io.jrun.train.optim.GradientClipping;
import io.jrun.train.tensor.ModuleTensors;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** Each rank has the whole model. With stage 1 of ZeRO the ranks share the states of the optimizer. */
final class DdpModel implements TrainedModel {
    private final DistributedDataParallel<LanguageModel> model;
    private final GptOptimizer optimizer;
    private final ShardedState state;
    private final @Nullable PowerSgdHook powerSgd;
    private final @Nullable LocalSgd localSgd;
    private final @Nullable Float8Layers float8;

    DdpModel(GptOptions options, DeviceMesh mesh, Consumer<LanguageModel> built) {
        ProcessGroup group = ParallelOptions.dataGroup(mesh);
        LanguageModel module = TrainedModel.build(options, ModuleWrapper.NONE);
        float8 = options.recipe().precision() == GptRecipe.Precision.FP8 ? new Float8Layers(module) : null;
        built.accept(module);
        model = new DistributedDataParallel<>(module, group, options.recipe().ddp());
        CommunicationHook hook = options.recipe().communicationHook().orElse(null);
        if (hook != null) {
            model.registerHook(hook);
        }
        powerSgd = hook instanceof PowerSgdHook kept ? kept : null;
        int neighbours = options.recipe().localSgdRanks();
        localSgd = neighbours == 0 ? null : new LocalSgd(group, neighbours);
        if (localSgd != null) {
            model.registerHook(localSgd.hook());
        }
        optimizer = options.parallel().zeroStage() == 1
                ? ZeroStates.stageOne(model, group)
                : GptOptimizer.of(
                        options.recipe().optimizer(), ModuleTensors.parameters(module), model.gradientMemory());
        state = new ShardedState(WholeParameters.of(module), ParallelOptions.shardAxis(mesh));
    }

    @Override
    public LanguageModel module() {
        return model.module();
    }

    @Override
    public GptOptimizer optimizer() {
        return optimizer;
    }

    @Override
    public ShardedState state() {
        return state;
    }

    @Override
    public Holding holding() {
        if (optimizer instanceof ZeroStates) {
            return Holding.PARTS_OF_GROUP;
        }
        return powerSgd == null && float8 == null ? Holding.ALL : Holding.PARTS;
    }

    @Override
    public Map<String, Tensor> ownState() {
        Map<String, Tensor> own = new HashMap<>();
        if (powerSgd != null) {
            own.putAll(powerSgd.state());
        }
        if (float8 != null) {
            own.putAll(float8.state());
        }
        return own;
    }

    @Override
    public void loadOwnState(Map<String, Tensor> own) {
        if (powerSgd != null) {
            Map<String, Tensor> errors = new HashMap<>(own);
            errors.keySet().removeIf(Float8Layers::owns);
            powerSgd.load(errors);
        }
        if (float8 != null) {
            float8.load(own);
        }
    }

    @Override
    public Scope step() {
        Step step = model.step();
        return Scope.of(step::close, step::backward);
    }

    @Override
    public Pause noSync() {
        NoSync scope = model.noSync();
        return scope::close;
    }

    @Override
    public double clip(double maximum) {
        return optimizer instanceof ZeroStates zero
                ? zero.clip(maximum)
                : GradientClipping.clipByGlobalNorm(
                        ModuleTensors.parameters(model.module()).values(), maximum);
    }

    @Override
    public void stepDone() {
        if (localSgd != null) {
            localSgd.stepDone(ModuleTensors.parameters(module()).values());
        }
    }

    @Override
    public void trainingDone() {
        if (localSgd != null) {
            localSgd.average(ModuleTensors.parameters(module()).values());
        }
    }

    @Override
    public Exposure lastExposure() {
        ReductionTimeline timeline = model.lastReduction();
        return new Exposure(
                timeline.lastGradientNanos(),
                timeline.finishedNanos(),
                timeline.buckets().stream().mapToLong(BucketSpan::bytes).sum());
    }

    @Override
    public Duration exposedCommunication() {
        return model.exposedCommunication();
    }

    @Override
    public void close() {
        optimizer.close();
        model.close();
    }
}
