package io.jrun.train.checkpoint.sharded;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.train.JavaProcess;
import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.checkpoint.ModelState;
import io.jrun.train.checkpoint.OptimizerState;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.OneCycle;
import io.jrun.train.precision.LossScaler;
import io.jrun.train.precision.ScalePolicy;
import io.jrun.train.tensor.ModuleTensors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process that trains is killed with SIGKILL, also inside of saves, and started again: the parameters have the same
 * bits.
 */
class ResumeIT {
    private static final int STEPS = 20;
    private static final int KILLS = Boolean.getBoolean("jrun.soak") ? 50 : 2;

    @TempDir
    private Path folder;

    @Test
    void twentyStepsEqualTwentyStepsWithKills() throws Exception {
        Path whole = folder.resolve("whole.safetensors");
        start("whole", whole).join();
        Random random = new Random(Long.getLong("jrun.test.seed", 1));
        for (int kills = 0; kills < KILLS; kills += 2) {
            String run = "run" + kills;
            Path killed = folder.resolve(run + ".safetensors");
            kill(start(run, killed), "step " + (3 + random.nextInt(STEPS / 2)) + ".", random.nextInt(40));
            kill(start(run, killed), "goes on from step", random.nextInt(200));
            String printed = start(run, killed).join();
            assertThat(Files.readAllBytes(killed)).as(printed).isEqualTo(Files.readAllBytes(whole));
        }
    }

    private JavaProcess start(String checkpoints, Path out) throws IOException {
        return JavaProcess.start(
                folder,
                Trainer.class,
                List.of(),
                Map.of(),
                folder.resolve(checkpoints).toString(),
                out.toString());
    }

    /** Kills a trainer some milliseconds after an output: the trainer then computes, saves, or has ended. */
    private static void kill(JavaProcess trainer, String output, int millis) throws IOException, InterruptedException {
        trainer.awaitOutput(output);
        long end = System.nanoTime() + millis * 1_000_000L;
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
        trainer.kill();
    }

    /** Trains with dropout, a learning-rate schedule, a loss scaler and data that a generator in Java draws. */
    static final class Trainer {
        private static final int CONTEXT = 8;
        private static final double DROPOUT = 0.1;

        private final TinyGpt model = new TinyGpt(1, 32, CONTEXT);
        private final Map<String, Tensor> parameters = ModuleTensors.parameters(model);
        private final TensorVector given = model.parameters();
        private final AdamW optimizer = new AdamW(given, new AdamWOptions(1e-2));
        private final OneCycle schedule = OneCycle.of(1e-2, STEPS);
        private final LossScaler scaler = new LossScaler(new ScalePolicy(4, 2, 0.5, 3), null);
        private final SplitMix64Random random = new SplitMix64Random(5);
        private long step;

        public static void main(String[] args) {
            Libtorch.setThreads(1);
            torch.manual_seed(7);
            Trainer trainer = new Trainer();
            try (CheckpointManager manager = CheckpointManager.alone(args[0], Retention.DEFAULT)) {
                trainer.resume(manager);
                while (trainer.step < STEPS) {
                    trainer.step();
                    System.out.println("step " + trainer.step + ".");
                    if (trainer.step % 2 == 0) {
                        manager.save(trainer.step, trainer.state());
                    } else {
                        manager.saveAsync(trainer.step, trainer.state());
                    }
                }
            }
            // The scale is a power of 2, so a lost scale would not change the parameters.
            String scaler = trainer.scaler.state().toString();
            Safetensors.write(Path.of(args[1]), trainer.parameters, Map.of("scaler", scaler));
        }

        private void resume(CheckpointManager manager) {
            OptionalLong latest = manager.latest();
            if (latest.isEmpty()) {
                return;
            }
            SavedCheckpoint saved = manager.open(latest.getAsLong());
            ModelState.load(model, saved.read("model."));
            OptimizerState.load(optimizer, parameters, saved.read("optimizer."));
            String[] scale = saved.texts().getOrDefault("scaler", "").split(" ", 2);
            scaler.load(new ScalePolicy.State(Float.parseFloat(scale[0]), Integer.parseInt(scale[1])));
            assertThat(RandomState.restore(saved, 0, Device.CPU, random)).isTrue();
            step = saved.step();
            System.out.println("goes on from step " + step);
        }

        private StateDict state() {
            StateDict state = new StateDict()
                    .putAll("model.", ModelState.of(model))
                    .putAll("optimizer.", OptimizerState.of(optimizer, parameters))
                    .putText(
                            "scaler",
                            scaler.state().scale() + " " + scaler.state().goodSteps());
            RandomState.save(state, 0, Device.CPU, random);
            return state;
        }

        private void step() {
            try (PointerScope _ = new PointerScope()) {
                optimizer.zero_grad();
                long seed = random.nextLong();
                Tensor tokens = TinyGpt.tokens(seed, 2, CONTEXT);
                Tensor logits = torch.dropout(model.forward(tokens), DROPOUT, true);
                Tensor loss = torch.cross_entropy_loss(logits.view(-1, TinyGpt.VOCABULARY), tokens.view(-1));
                scaler.scale(loss).backward();
                optimizer.param_groups().get(0).options().set_lr(schedule.at(step));
                scaler.step(Parameters.of(parameters).values(), optimizer::step);
                step++;
            }
        }
    }
}
