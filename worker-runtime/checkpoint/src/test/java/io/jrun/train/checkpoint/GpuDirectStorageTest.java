package io.jrun.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.GpuDirectStorage;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.JavaProcess;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.storage.FileStorage;
import io.jrun.train.storage.ObjectReader;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.SimulatedPlacement;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files are read into the memory of a simulated GPU by a simulated libcufile, or through host memory. */
@Timeout(300)
class GpuDirectStorageTest {
    private static final Device GPU = Device.cuda(0);
    private static final String NO_FAILURE = "";

    @TempDir
    private static Path folder = Path.of("");

    @BeforeAll
    static void write() throws IOException {
        Files.write(folder.resolve("file"), new byte[10_000]);
    }

    /** Prints where a file is read for a GPU, and why. Then again with each further setting of the simulated CUDA. */
    static final class Placing {
        public static void main(String[] args) throws IOException {
            Path path = Path.of(args[0]);
            for (int i = 0; i < args.length; i++) {
                if (i > 0) {
                    SimulatedCuda.set(args[i].split("=", 2)[0], args[i].split("=", 2)[1]);
                }
                try (ObjectReader reader = FileStorage.at(path).open("file")) {
                    System.out.println(reader.place(GPU));
                } catch (IOException e) {
                    System.out.println(e.getMessage());
                }
                GpuDirectStorage.ofProcess().takeNotes().forEach(System.out::println);
            }
        }
    }

    private static JavaProcess place(Map<String, String> environment, String... settings) throws Exception {
        return SimulatedCuda.start(
                Files.createTempDirectory(folder, "process"),
                Placing.class,
                environment,
                Stream.concat(Stream.of(folder.toString()), Stream.of(settings)).toArray(String[]::new));
    }

    @Test
    void oneLineSaysWhichWayFilesAreReadAndWhy() throws Exception {
        Path withoutLibrary = Files.createDirectory(folder.resolve("libraries"));
        Files.createSymbolicLink(
                withoutLibrary.resolve("libcudart.so.13"),
                SimulatedCuda.folder().resolve("libcudart.so.13"));
        Map<String, JavaProcess> processes = new LinkedHashMap<>();
        String all = "cpu\nfiles are read through host memory: ";
        String here = "cpu\nfiles in " + folder + " are read through host memory: ";
        processes.put(
                "cuda:0\nfiles in " + folder + " are read into the memory of the GPU by GPUDirect Storage\n"
                        + here + "cuFileHandleRegister failed with cuFile error 5008 (the file system does not support"
                        + " GPUDirect Storage)\n"
                        + here + "cuFileBufRegister of 16777216 bytes failed with cuFile error 5011 (CUDA's driver"
                        + " reported an error), CUDA error 700\n"
                        + here + "cudaMalloc of 16777216 bytes failed with CUDA error 2\n",
                place(
                        Map.of("SIMCUFILE_NVFS", "0", "SIMCUFILE_STATUS", "2048"),
                        "SIMCUDA_FAIL=cuFileHandleRegister=5008",
                        "SIMCUDA_FAIL=cuFileBufRegister=5011",
                        "SIMCUDA_FAIL=cudaMalloc=2"));
        processes.put(all + "JRUN_GPU_DIRECT_STORAGE=off\n", place(Map.of("JRUN_GPU_DIRECT_STORAGE", "off")));
        processes.put(
                "JRUN_GPU_DIRECT_STORAGE=on is neither auto nor off\n", place(Map.of("JRUN_GPU_DIRECT_STORAGE", "on")));
        processes.put(
                all + "libcufile.so.0 is missing. Install NVIDIA's GPUDirect Storage, or name the folder of the"
                        + " library in JRUN_CUDA_PATH\n",
                place(Map.of("LD_LIBRARY_PATH", withoutLibrary.toString())));
        processes.put(
                all + "cuFileDriverOpen failed with cuFile error 5001 (the kernel module nvidia-fs is not loaded)\n",
                place(Map.of("SIMCUDA_FAIL", "cuFileDriverOpen=5001")));
        processes.put(
                all + "libcufile.so.0 finds neither the kernel module nvidia-fs nor peer-to-peer transfers of NVMe\n",
                place(Map.of("SIMCUFILE_NVFS", "0")));
        for (Map.Entry<String, JavaProcess> each : processes.entrySet()) {
            String printed = each.getValue().join();
            assertThat(printed.substring(printed.indexOf('\n') + 1)) // behind the JVM's warning
                    .isEqualTo(each.getKey());
        }
    }

    @Test
    void tensorsHaveTheBitsOfTheFilesAndErrorsHaveOneLine() throws Exception {
        Path work = Files.createDirectory(folder.resolve("tensors"));
        String printed = SimulatedCuda.start(work, Reading.class, Map.of("SIMCUDA_INLINE", "1"), work.toString())
                .join();
        assertThat(printed).endsWith("done\n");
    }

    /** The program of the JVM whose tensors are in the memory of a simulated GPU. */
    static final class Reading {
        private final Path folder;
        private final Map<String, Tensor> tensors = new LinkedHashMap<>();

        private Reading(Path folder) {
            this.folder = folder;
        }

        public static void main(String[] args) throws IOException {
            Libtorch.setThreads(1);
            SimulatedPlacement.installForRanks();
            Reading reading = new Reading(Path.of(args[0]));
            reading.writeOnHost(); // this thread has no GPU; a thread of a rank has one
            LocalWorld.run(1, _ -> {
                reading.weights();
                reading.errors();
                reading.replacedFile();
                reading.checkpoints();
                reading.memoryIsFreed();
                reading.failedClose();
            });
            System.out.println("done");
        }

        /** Sizes from one byte to more than the buffer of GPUDirect Storage; positions that no block begins at. */
        private void writeOnHost() {
            torch.manual_seed(7);
            long[] sizes = {1, 3, 1000, 1024, 4097, 99_983};
            for (torch.ScalarType type :
                    List.of(torch.ScalarType.Float, torch.ScalarType.BFloat16, torch.ScalarType.Byte)) {
                for (long size : sizes) {
                    tensors.put(
                            type + "." + size,
                            torch.randint(0, 200, new long[] {size}, new TensorOptions(torch.ScalarType.Float))
                                    .to(type));
                }
            }
            tensors.put("Float.large", torch.rand(new long[] {(4 << 20) + 1}));
            tensors.put("matrix", torch.randn(new long[] {37, 41}));
            Safetensors.write(folder.resolve("weights"), tensors, Map.of("odd", "header"));
        }

        private void weights() {
            SimulatedCuda.set("SIMCUDA_FAIL", NO_FAILURE);
            for (String most : List.of("1000000000", "1048576", "5000")) {
                SimulatedCuda.set("SIMCUFILE_MOST_BYTES", most);
                if (most.equals("5000")) {
                    tensors.remove("Float.large"); // more than 4000 reads
                }
                read();
            }
            SimulatedCuda.set("SIMCUFILE_MOST_BYTES", "1000000000");
        }

        private void read() {
            try (TensorFile weights = Safetensors.open(folder.resolve("weights"));
                    NoGradGuard _ = new NoGradGuard()) {
                tensors.forEach((name, tensor) -> {
                    Tensor same = TensorMemory.empty(GPU, tensor.scalar_type().intern(), TensorMemory.sizes(tensor));
                    weights.read(name, same);
                    assertEqual(name, same, tensor);
                    Tensor converted = TensorMemory.empty(GPU, torch.ScalarType.Double, TensorMemory.sizes(tensor));
                    weights.read(name, converted);
                    assertEqual(name, converted, tensor.to(torch.ScalarType.Double));
                });
                Tensor columns = TensorMemory.empty(GPU, torch.ScalarType.Float, 41, 37);
                weights.read("matrix", columns.t());
                assertEqual("columns", columns.t().contiguous(), Objects.requireNonNull(tensors.get("matrix")));
            }
            assertThat(GpuDirectStorage.ofProcess().takeNotes())
                    .containsExactly(
                            "files in " + folder + " are read into the memory of the GPU by GPUDirect Storage");
        }

        private static void assertEqual(String name, Tensor found, Tensor expected) {
            assertThat(DeviceWaits.onHost(found).equal(expected)).as(name).isTrue();
        }

        private void errors() {
            String name = "Float.99983";
            Tensor target = TensorMemory.empty(GPU, torch.ScalarType.Float, 99_983);
            String remedy = ". JRUN_GPU_DIRECT_STORAGE=off reads through host memory";
            String begin = "cannot read tensor '" + name + "' of " + folder.resolve("weights") + ": cuFileRead of ";
            for (Map.Entry<String, String> each : Map.of(
                            "cuFileRead=5011", " failed with cuFile error 5011 (CUDA's driver reported an error)",
                            "cuFileRead=5016",
                                    " failed with cuFile error 5016 (the range is larger than the GPU can map)",
                            "cuFileRead.errno=5", ": Input/output error")
                    .entrySet()) {
                try (TensorFile weights = Safetensors.open(folder.resolve("weights"))) {
                    SimulatedCuda.set("SIMCUDA_FAIL", NO_FAILURE);
                    weights.read("Float.1000", TensorMemory.empty(GPU, torch.ScalarType.Float, 1000));
                    SimulatedCuda.set("SIMCUDA_FAIL", each.getKey()); // in the middle of the file
                    assertThatThrownBy(() -> weights.read(name, target))
                            .isInstanceOf(CheckpointException.class)
                            .hasMessageStartingWith(begin)
                            .hasMessageContaining(" bytes from byte ")
                            .hasMessageEndingWith(each.getValue() + remedy);
                }
            }
            SimulatedCuda.set("SIMCUDA_FAIL", NO_FAILURE);
            try (TensorFile weights = Safetensors.open(folder.resolve("weights"))) {
                Path path = folder.resolve("weights");
                byte[] whole = Files.readAllBytes(path);
                int end = Math.toIntExact(weights.stored(name).position() + 10_000);
                try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                    weights.read("Float.1000", TensorMemory.empty(GPU, torch.ScalarType.Float, 1000));
                    channel.truncate(end);
                    assertThatThrownBy(() -> weights.read(name, target))
                            .hasMessageContaining("the file ends at byte " + end + "; another process has shortened");
                    channel.write(ByteBuffer.wrap(whole, end, whole.length - end), end);
                }
            } catch (IOException e) {
                throw new AssertionError(e);
            }
            GpuDirectStorage.ofProcess().takeNotes();
        }

        /** A writer replaces the file after the program has opened it: the tensors come from the file of the header. */
        private void replacedFile() {
            Path path = folder.resolve("weights");
            Path kept = folder.resolve("weights.kept");
            String name = "Float.99983";
            try (TensorFile weights = Safetensors.open(path)) {
                Files.createLink(kept, path);
                Path other = folder.resolve("weights.other");
                Files.write(other, new byte[Math.toIntExact(Files.size(path))]);
                Files.move(other, path, StandardCopyOption.REPLACE_EXISTING);
                Tensor target = TensorMemory.empty(GPU, torch.ScalarType.Float, 99_983);
                weights.read(name, target);
                assertEqual(name, target, Objects.requireNonNull(tensors.get(name)));
                assertThat(GpuDirectStorage.ofProcess().takeNotes())
                        .containsExactly("files in " + folder + " are read through host memory: another process has"
                                + " replaced weights");
                Files.move(kept, path, StandardCopyOption.REPLACE_EXISTING);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }

        /** All files are closed: each registration has ended, and the buffer is free. */
        private void memoryIsFreed() {
            assertThat(calls("cuFileHandleRegister ")).isPositive().isEqualTo(calls("cuFileHandleDeregister "));
            assertThat(calls("cuFileBufRegister ")).isPositive().isEqualTo(calls("cuFileBufDeregister "));
            Tensor target = TensorMemory.empty(GPU, torch.ScalarType.Float, 1000);
            long before = SimulatedCuda.allocatedBytes();
            try (TensorFile weights = Safetensors.open(folder.resolve("weights"))) {
                weights.read("Float.1000", target);
                assertThat(SimulatedCuda.allocatedBytes()).isEqualTo(before + (16 << 20));
            }
            assertThat(SimulatedCuda.allocatedBytes()).isEqualTo(before);
        }

        /** The last check: the simulated library keeps a registration that it did not end. */
        private void failedClose() {
            Path path = folder.resolve("weights");
            TensorFile weights = Safetensors.open(path);
            weights.read("Float.1000", TensorMemory.empty(GPU, torch.ScalarType.Float, 1000));
            assertThat(descriptors(path)).isEqualTo(2);
            SimulatedCuda.set("SIMCUDA_FAIL", "cuFileBufDeregister=5011");
            assertThatThrownBy(weights::close)
                    .hasMessageContaining("cuFileBufDeregister failed with cuFile error 5011");
            assertThat(descriptors(path)).isZero();
        }

        /** How often this process has opened a file. */
        private static long descriptors(Path file) {
            try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
                return all.filter(each -> isLinkTo(each, file)).count();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }

        private static boolean isLinkTo(Path descriptor, Path file) {
            try {
                return Files.readSymbolicLink(descriptor).equals(file);
            } catch (IOException _) { // the descriptor of the list
                return false;
            }
        }

        private void checkpoints() {
            String place = folder.resolve("checkpoints").toString();
            StateDict saved = new StateDict();
            Map<String, Tensor> onDevice = new LinkedHashMap<>();
            tensors.forEach((name, tensor) -> {
                Tensor copy = TensorMemory.empty(GPU, tensor.scalar_type().intern(), TensorMemory.sizes(tensor));
                copy.copy_(tensor);
                onDevice.put(name, copy);
            });
            saved.putAll("model.", onDevice);
            try (CheckpointManager manager = CheckpointManager.alone(place, Retention.DEFAULT)) {
                manager.save(1, saved);
                long before = calls("cuFileRead ");
                load(manager);
                assertThat(calls("cuFileRead ")).isGreaterThan(before);
                damage();
                assertThatThrownBy(() -> load(manager))
                        .isInstanceOf(DamagedCheckpointException.class)
                        .hasMessageContaining("is damaged: the bytes from ")
                        .hasMessageContaining("have the CRC32C");
            }
        }

        private long calls(String begin) {
            try {
                return SimulatedCuda.calls(folder).stream()
                        .filter(call -> call.text().startsWith(begin))
                        .count();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }

        private void load(CheckpointManager manager) {
            StateDict wanted = new StateDict();
            Map<String, Tensor> loaded = new LinkedHashMap<>();
            tensors.forEach((name, tensor) -> loaded.put(
                    name, TensorMemory.zeros(GPU, tensor.scalar_type().intern(), TensorMemory.sizes(tensor))));
            Tensor columns = TensorMemory.zeros(GPU, torch.ScalarType.Float, 41, 37);
            loaded.put("matrix", columns.t());
            wanted.putAll("model.", loaded);
            manager.open(1).load(wanted);
            loaded.forEach((name, tensor) -> assertEqual(name, tensor, Objects.requireNonNull(tensors.get(name))));
        }

        /** Changes the last byte of the largest part. */
        private void damage() {
            try (Stream<Path> files = Files.walk(folder.resolve("checkpoints"))) {
                List<Path> parts =
                        new ArrayList<>(files.filter(path -> path.toString().endsWith(".safetensors"))
                                .toList());
                assertThat(parts).isNotEmpty();
                Path part = parts.getFirst();
                byte[] bytes = Files.readAllBytes(part);
                bytes[bytes.length - 1] ^= 1;
                Files.write(part, bytes);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
    }
}
