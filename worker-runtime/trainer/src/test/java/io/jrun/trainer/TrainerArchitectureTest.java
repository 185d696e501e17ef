package io.jrun.trainer;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;

@AnalyzeClasses(packages = "io.jrun.trainer", importOptions = DoNotIncludeTests.class)
class TrainerArchitectureTest {
    @ArchTest
    static final ArchRule THE_TRAINER_KNOWS_NO_MODEL = noClasses()
            .should()
            .dependOnClassesThat()
            .resideOutsideOfPackages(
                    "io.jrun.trainer..",
                    "io.jrun.comm",
                    "io.jrun.comm.file",
                    "io.jrun.comm.spelling",
                    "io.jrun.train..",
                    "org.bytedeco..",
                    "java..",
                    "com.sun.management", // the memory that a control group allows
                    "org.jspecify..");

    @ArchTest
    static final ArchRule COMMAND_LINES_NEED_NO_LIBTORCH = noClasses()
            .that()
            .resideInAPackage("io.jrun.trainer.arguments")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.jrun.train..", "org.bytedeco..");

    @ArchTest
    static final ArchRule PACKAGES_HAVE_NO_CYCLES =
            SlicesRuleDefinition.slices().matching("io.jrun.(**)").should().beFreeOfCycles();
}
