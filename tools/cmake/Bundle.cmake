# What tools/package puts into the bundle: `cmake --install BUILD --component bundle`. The programs
# find their libraries in lib/ beside them; LibTorch's come from the launchers of tools/bundle.

# ddpprof_bundle(program folder): `folder` is bin or libexec.
function(ddpprof_bundle program folder)
  target_link_options(${program} PRIVATE LINKER:--disable-new-dtags)
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  install(TARGETS ${program} RUNTIME DESTINATION ${folder} COMPONENT bundle)
endfunction()

# ddpprof_bundle_launcher(name script)
function(ddpprof_bundle_launcher name script)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/tools/bundle/${script}
    DESTINATION bin RENAME ${name} COMPONENT bundle)
endfunction()

ddpprof_bundle(ddpprof bin)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION . COMPONENT bundle)
if(DDPPROF_TRAINERS)
  ddpprof_bundle(ddpprof-train libexec)
  ddpprof_bundle_launcher(ddpprof-train trainer)
  install(FILES ${PROJECT_SOURCE_DIR}/trainers/workloads/data/digits.LICENSE.md
    DESTINATION licences COMPONENT bundle)
  # LibTorch's headers are compiled into the trainers.
  file(GLOB licence ${DDPPROF_SITE_PACKAGES}/torch-*.dist-info/licenses/LICENSE)
  if(licence)
    install(FILES ${licence} DESTINATION licences RENAME torch COMPONENT bundle)
  endif()
endif()
if(DDPPROF_HAS_CUDA)
  ddpprof_bundle(ddpprof-train-cuda libexec)
  ddpprof_bundle_launcher(ddpprof-train-cuda trainer)
endif()
if(TARGET ddpprof_gpu_test)
  ddpprof_bundle(ddpprof_gpu_test libexec)
  ddpprof_bundle_launcher(ddpprof-gpu-tests gpu-tests)
endif()
if(TARGET ddpprof_gpu_record_test)
  # With LibTorch's CUDA libraries, as the trainers.
  ddpprof_bundle(ddpprof_gpu_record_test libexec)
  ddpprof_bundle_launcher(ddpprof_gpu_record_test trainer)
endif()
